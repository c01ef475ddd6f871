# Prints which headers one translation unit checks, a line each: a header stands behind those that it includes itself, directly or
# not. Whatever such a one declares, the header behind it sees without them, too: so each is compiled as if it were alone.
#
#   awk -v wanted="core/graph.h io/rows.h" -f header_chains.awk HEADERS...     HEADERS: all that there are, relative to the tree
#
# Chains are long, and few: each begins at the header that includes most, and goes on to that of its own which includes most.

FNR == 1 { depth = 0; headers[++count] = FILENAME }
/^#[ \t]*if/ { ++depth }
/^#[ \t]*endif/ { --depth }
# What is included on a condition is not counted.
depth == 0 && /^#include "chatty\// {
  split($0, part, "\"")
  sub(/^chatty\//, "", part[2])
  direct[FILENAME] = direct[FILENAME] " " part[2]
}

# reach(FROM, HEADER): adds what HEADER includes to what FROM includes.
function reach(from, header,   names, n, i) {
  n = split(direct[header], names, " ")
  for (i = 1; i <= n; ++i) {
    if ((from, names[i]) in includes) continue
    includes[from, names[i]] = 1
    ++size[from]
    reach(from, names[i])
  }
}

# largest(OF): of the headers that are left, and that OF includes unless it is empty, the one that includes most.
function largest(of,   i, best) {
  best = ""
  for (i = 1; i <= chosen; ++i) {
    if (left[name[i]] && (of == "" || (of, name[i]) in includes) && (best == "" || size[name[i]] > size[best])) best = name[i]
  }
  return best
}

END {
  for (i = 1; i <= count; ++i) {
    size[headers[i]] = 0
    reach(headers[i], headers[i])
  }
  chosen = split(wanted, name, " ")
  for (i = 1; i <= chosen; ++i) left[name[i]] = 1
  while ((head = largest("")) != "") {
    line = ""
    while (head != "") {
      line = line == "" ? head : head " " line
      left[head] = 0
      head = largest(head)
    }
    print line
  }
}
