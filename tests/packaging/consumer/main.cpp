// The consumer's own `chatty`: all subcommands, with the programs that its CMakeLists.txt names.
#include <chatty/cli/app.h>

int main(int argc, char** argv) {
  chatty::Registry registry;
  chatty::RegisterPrograms(registry);
  return chatty::cli::RunCommandLine(argc, argv, registry);
}
