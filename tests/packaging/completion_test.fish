# Fish's completion, as fish would offer it. Run as `fish --no-config completion_test.fish SCRIPT CHATTY`.
set -g failures 0
set -gx PATH (dirname $argv[2]) $PATH
cd (mktemp -d)
touch graph.mtx
source $argv[1]
function expect
    set -l got (complete -C $argv[1] | string replace -r '\t.*' '' | sort | string join ' ')
    if test "$got" != "$argv[2]"
        echo "`$argv[1]` completes to: $got"
        echo "                  not: $argv[2]"
        set failures (math $failures + 1)
    end
end
expect 'chatty ru' run
expect 'chatty run pagerank' 'pagerank pagerank_double pagerank_push'
expect 'chatty run bfs gr' graph.mtx
expect 'chatty run bfs graph.mtx --dev' --devices
expect 'chatty run bfs graph.mtx --direction pu' 'pull push'
expect 'chatty run bfs graph.mtx --direction=pu' '--direction=pull --direction=push'
expect 'chatty run bfs graph.mtx --output=gr' --output=graph.mtx
rm -r $PWD
test $failures = 0; or exit 1
