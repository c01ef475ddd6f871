# Bash's completion, as bash calls it: sources the installed script, sets what readline sets, calls the function, looks at
# COMPREPLY. Run as `bash --norc completion_test.bash SCRIPT CHATTY`.
set -u
script=$1 chatty=$2
PATH=$(dirname "$chatty"):$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
touch graph.mtx 'with blank.mtx' grid.chatty
mkdir inner
source "$script" || exit 1
failures=0

# complete_line LINE: COMPREPLY for the cursor at the line's end. The line is split as readline does: at blanks, and at : and =.
complete_line() {
  COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=()
  local rest=$1 word
  while [[ -n $rest ]]; do
    if [[ $rest =~ ^[[:space:]]+ ]]; then
      rest=${rest:${#BASH_REMATCH}}
      [[ -z $rest ]] && COMP_WORDS+=("")
      continue
    fi
    [[ $rest =~ ^[:=]+ || $rest =~ ^[^[:space:]:=]+ ]]
    word=$BASH_REMATCH
    COMP_WORDS+=("$word")
    rest=${rest:${#word}}
  done
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  local spec
  spec=$(complete -p chatty) || { echo "chatty has no completion"; exit 1; }
  [[ $spec =~ -F\ ([^ ]+) ]]
  COMPREPLY=()
  "${BASH_REMATCH[1]}" chatty "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
}

# expect LINE WORD...: the completions of LINE are these, in any order. expect_among: these and perhaps others.
sorted() { (($#)) && printf '%s\n' "$@" | sort; }
expect() {
  local line=$1
  shift
  complete_line "$line"
  if [[ $(sorted ${COMPREPLY[@]+"${COMPREPLY[@]}"}) != "$(sorted "$@")" ]]; then
    echo "\`$line\` completes to: ${COMPREPLY[*]-}"
    echo "               but not: $*"
    failures=$((failures + 1))
  fi
}
expect_among() {
  local line=$1 word
  shift
  complete_line "$line"
  for word; do
    if [[ $'\n'$(sorted ${COMPREPLY[@]+"${COMPREPLY[@]}"})$'\n' != *$'\n'"$word"$'\n'* ]]; then
      echo "\`$line\` completes to: ${COMPREPLY[*]-}"
      echo "           and not to: $word"
      failures=$((failures + 1))
    fi
  done
}

expect "chatty " run verify info generate convert partition programs topology compare completion help
expect "chatty r" run
expect "chatty -q ru" run
expect "chatty nothing "
expect "chatty help gen" generate
expect "chatty completion " bash zsh fish
expect "chatty --ver" --version

expect_among "chatty run " bfs sssp pagerank pagerank_push cc label_propagation
expect "chatty run pagerank" pagerank pagerank_double pagerank_push
expect "chatty run bfs " graph.mtx 'with blank.mtx' grid.chatty inner
expect "chatty run bfs gr" graph.mtx grid.chatty
expect "chatty run bfs graph.mtx "
expect "chatty run bfs graph.mtx --dev" --devices
expect_among "chatty run bfs graph.mtx --" --devices --partition --direction --comm --links --explain --source --set --value --verify --output \
  --json --trials --timeout --max-rounds --seed --threads --weights --ids --format --symmetrise --quiet --log --help
expect "chatty run bfs graph.mtx --verify --veri"
expect "chatty run bfs graph.mtx --set source=1 --se" --set --seed

expect_among "chatty run bfs graph.mtx --devices " auto host host:
expect "chatty run bfs graph.mtx --devices ho" host host:
expect "chatty run bfs graph.mtx --devices host:"
expect "chatty run bfs graph.mtx --devices host:3 --verif" --verify
expect_among "chatty run bfs --partition " contiguous edge-balanced random metis
expect "chatty run bfs --partition=e" edge-balanced
expect_among "chatty run bfs --comm " auto chattygraph host staged
expect "chatty run bfs --direction " auto push pull
expect "chatty run bfs --direction=pu" push pull
expect "chatty run bfs --execution b" bsp
expect "chatty run bfs --log w" warning
expect "chatty run bfs graph.mtx --source " random: max-degree
expect "chatty run bfs graph.mtx --source r" random:
expect "chatty run bfs graph.mtx --value " level parent
expect "chatty run sssp graph.mtx --value " distance
expect "chatty run bfs graph.mtx --set " source=
expect "chatty run pagerank graph.mtx --set da" damping=
expect "chatty run pagerank graph.mtx --set damping="
expect "chatty run bfs graph.mtx --weights " file int float none
expect "chatty run bfs graph.mtx --format " binary gbbs galois gap matrix-market konect ldbc dimacs metis edge-list
expect "chatty run bfs --ldbc gra" graph.mtx
expect "chatty run bfs graph.mtx --trials "
expect "chatty run bfs graph.mtx -o gra" graph.mtx
expect "chatty run bfs graph.mtx --output=gra" graph.mtx
expect "chatty run --devices host:2 b" bc bfs
expect "chatty run -- b" bc bfs

expect_among "chatty generate " kron uniform grid chain star
expect "chatty generate gr" grid
expect "chatty generate grid 10 10 --weights f" float float:
expect "chatty convert graph.mtx --fr" --from
expect "chatty convert graph.mtx --from b" binary
expect "chatty convert gra" graph.mtx
expect "chatty verify cc graph.mtx wi" 'with blank.mtx'
expect "chatty info graph.mtx --part" --parts --partition
expect "chatty programs --only c" cc cdlp
expect "chatty topology --links " all none pairs
expect_among "chatty topology --devices " auto host host:
expect "chatty programs --json " graph.mtx 'with blank.mtx' grid.chatty inner

# The cursor within the line: what follows it does not count.
COMP_LINE="chatty run bfs graph.mtx --verify" COMP_POINT=8 COMP_WORDS=(chatty run bfs graph.mtx --verify) COMP_CWORD=1
COMPREPLY=()
_chatty_complete chatty run chatty
[[ ${COMPREPLY[*]-} == run ]] || { echo "within the line: ${COMPREPLY[*]-}"; failures=$((failures + 1)); }

# Whatever option takes a value that is no number and no name of the user's own, its values are offered.
for command in run verify info generate convert partition programs topology; do
  while read -r option type; do
    case $type in N | X | P | SIZE | UINT | SECONDS | '') continue ;; esac
    complete_line "chatty $command $option "
    if ((${#COMPREPLY[@]} == 0)); then
      echo "chatty $command: nothing is offered for $option $type"
      failures=$((failures + 1))
    fi
  done < <("$chatty" "$command" --help | sed -nE 's/^  (-[a-z], ?)?(--[a-z-]+) ([^ ]+)( .*)?$/\2 \3/p')
done

((failures == 0)) && echo "all complete"
exit $((failures > 0))
