# Takes the programs out of a Markdown page.
#
#   awk -v folder=OUT -v stem=NAME -f extract.awk PAGE.md
#
# Blocks fenced as ```cpp up to and with one that has a main() are one program: OUT/NAME_1.cpp, NAME_2.cpp ... If the
# next fenced block after it is ```text, that is what the program prints: OUT/NAME_1.txt. Says which programs it wrote,
# one name a line; fails if some C++ belongs to no program. Compilers' messages point into the page.
function fail(text) { printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"; failed = 1; exit 1 }

/^```/ {
  if (inside != "") {
    if (inside == "cpp" && has_main) {
      name = stem "_" (++programs)
      printf "%s", code > (folder "/" name ".cpp")
      close(folder "/" name ".cpp")
      print name
      code = ""; has_main = 0; awaits_output = 1
    } else if (inside == "output") {
      printf "%s", output > (folder "/" name ".txt")
      close(folder "/" name ".txt")
    }
    inside = ""
    next
  }
  inside = substr($0, 4)
  if (inside == "") inside = "plain"
  if (inside == "cpp") {
    code = code "#line " (FNR + 1) " \"" FILENAME "\"\n"
    began = FNR
  } else if (inside == "text" && awaits_output) {
    inside = "output"; output = ""
  }
  awaits_output = 0
  next
}
inside == "cpp" { code = code $0 "\n"; if ($0 ~ /^int main\(/) has_main = 1 }
inside == "output" { output = output $0 "\n" }

END {
  if (failed) exit 1
  if (inside != "") fail("the last fenced block has no end")
  if (code != "") {
    printf "%s:%d: this C++ belongs to no program: no main() follows it\n", FILENAME, began > "/dev/stderr"
    exit 1
  }
}
