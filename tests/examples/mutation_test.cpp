// No verifier of an example accepts an answer that is wrong in one entry.
#include "../programs/mutations.h"

namespace chatty::test {
namespace {

TEST(ExampleVerifiers, AcceptNoAnswerThatIsWrongInOneEntry) { SpoilEveryAnswer(); }

}  // namespace
}  // namespace chatty::test
