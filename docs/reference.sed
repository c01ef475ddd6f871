# Links within a page, which doxygen before 1.10 cannot follow, become their text.
s/\[([^]]*)\]\(#[^)]*\)/\1/g
