# zsh's completion, with zsh's own functions that show matches replaced by ones that print them. Run as
# `zsh -f completion_test.zsh SCRIPT CHATTY`.
path=(${2:h} $path)
compdef() { compdef_called="$*" }
_describe() { local array; for array in ${@:#-*}; do [[ ${(Pt)array} == array* ]] && matches+=("${(@P)array}"); done }
_files() { matches+=(FILES) }
compset() { compset_called="$*" }
source $1 || exit 1
[[ $compdef_called == "_chatty chatty" ]] || { print "compdef was called with: $compdef_called"; exit 1 }
failures=0
expect() {  # WORDS-BEFORE-AND-CURRENT EXPECTED
  words=("${(@s: :)1}") CURRENT=$#words matches=()
  [[ $1 == *' ' ]] && words+=('') && CURRENT=$#words
  _chatty
  # Descriptions follow a colon that is not escaped.
  local -a got=()
  local match
  for match in "${matches[@]}"; do
    match=${match//\\:/$'\1'}
    got+=("${${match%%:*}//$'\1'/:}")
  done
  got=("${(@o)got}")
  local shown="$got"
  if [[ $shown != "$2" ]]; then
    print "\`$1\` completes to: $shown"
    print "               not: $2"
    ((++failures))
  fi
}
expect 'chatty ru' run
expect 'chatty run pagerank' 'pagerank pagerank_double pagerank_push'
expect 'chatty run bfs gr' FILES
expect 'chatty run bfs graph.mtx --dev' --devices
expect 'chatty run bfs graph.mtx --devices ho' 'host host:'
expect 'chatty -q ru' run
expect 'chatty run bfs graph.mtx --direction=pu' '--direction=pull --direction=push'
expect 'chatty run bfs graph.mtx --trials ' ''
((failures == 0))
