// The command line with the programs of this folder in place of the prebuilt ones.
#include <chatty/cli/app.h>

int main(int argc, char** argv) {
  chatty::Registry registry;
  chatty::RegisterPrograms(registry);
  return chatty::cli::RunCommandLine(argc, argv, registry);
}
