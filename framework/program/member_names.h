/// \file
/// Which members a program names, exactly or almost. An almost-right optional member would be ignored silently, so
/// CheckProgram reports it. Part of program.h.
#pragma once

#include <type_traits>

namespace chatty::detail {

// Whether P has a member of a name, whatever its signature: a second base with the same name makes it ambiguous. This
// distinguishes a missing member from one that does not fit.
/// @cond
#define CHATTY_DETAIL_NAMES(Name)                     \
  struct With##Name {                                 \
    int Name;                                         \
  };                                                  \
  template <class P>                                  \
  struct PlusWith##Name : P, With##Name {};           \
  template <class P>                                  \
  constexpr bool Names##Name() {                      \
    if constexpr (std::is_final_v<P>) {               \
      return requires { &P::Name; };                  \
    } else {                                          \
      return !requires { &PlusWith##Name<P>::Name; }; \
    }                                                 \
  }
CHATTY_DETAIL_NAMES(InitVertex)
CHATTY_DETAIL_NAMES(ComputeScatter)
CHATTY_DETAIL_NAMES(ComputeReduce)
CHATTY_DETAIL_NAMES(UpdateStatus)
CHATTY_DETAIL_NAMES(Share)
CHATTY_DETAIL_NAMES(Consume)
CHATTY_DETAIL_NAMES(Filter)
CHATTY_DETAIL_NAMES(Wants)
CHATTY_DETAIL_NAMES(TakesFresh)
CHATTY_DETAIL_NAMES(AllowsGaussSeidel)
CHATTY_DETAIL_NAMES(RoundMessage)
CHATTY_DETAIL_NAMES(IsActive)
CHATTY_DETAIL_NAMES(Measure)
CHATTY_DETAIL_NAMES(EndRound)
CHATTY_DETAIL_NAMES(Output)
CHATTY_DETAIL_NAMES(Priority)
CHATTY_DETAIL_NAMES(Combine)
CHATTY_DETAIL_NAMES(PrepareData)
CHATTY_DETAIL_NAMES(kVertexData)
#undef CHATTY_DETAIL_NAMES

// Misspellings of each member: its words in another case, a letter left out, two swapped, one more or less at the end, and
// what other systems call it. The language gives no list of a struct's members, so each name is tested.
// clang-format off
#define CHATTY_DETAIL_LIKE_Share(X)                                                                                         \
  X(share) X(Sare) X(Shre) X(Shae) X(Shar) X(Sahre) X(Shrae) X(Shaer) X(Shares)
#define CHATTY_DETAIL_LIKE_Consume(X)                                                                                       \
  X(consume) X(Cnsume) X(Cosume) X(Conume) X(Consme) X(Consue) X(Consum) X(Cnosume) X(Cosnume) X(Conusme) X(Consmue)        \
  X(Consuem) X(Consumes)
#define CHATTY_DETAIL_LIKE_Filter(X)                                                                                        \
  X(filter) X(Flter) X(Fiter) X(Filer) X(Filtr) X(Filte) X(Fliter) X(Fitler) X(Filetr) X(Filtre) X(Filters) X(FilterMessage)
#define CHATTY_DETAIL_LIKE_AllowsGaussSeidel(X)                                                                             \
  X(allowsGaussSeidel) X(Allowsgaussseidel) X(allowsgaussseidel) X(allows_gauss_seidel) X(AlowsGaussSeidel)                 \
  X(AllwsGaussSeidel) X(AllosGaussSeidel) X(AllowGaussSeidel) X(AllowsGussSeidel) X(AllowsGassSeidel)                       \
  X(AllowsGausSeidel) X(AllowsGaussSidel) X(AllowsGaussSedel) X(AllowsGaussSeiel) X(AllowsGaussSeidl)                       \
  X(AllowsGaussSeide) X(AlolwsGaussSeidel) X(AllwosGaussSeidel) X(AlloswGaussSeidel) X(AllowsGuassSeidel)                   \
  X(AllowsGasusSeidel) X(AllowsGaussSiedel) X(AllowsGaussSediel) X(AllowsGaussSeiedl) X(AllowsGaussSeidle)
#define CHATTY_DETAIL_LIKE_RoundMessage(X)                                                                                  \
  X(roundMessage) X(Roundmessage) X(roundmessage) X(round_message) X(RundMessage) X(RondMessage) X(RoudMessage)             \
  X(RounMessage) X(RoundMssage) X(RoundMesage) X(RoundMessge) X(RoundMessae) X(RoundMessag) X(RuondMessage)                 \
  X(RonudMessage) X(RoudnMessage) X(RoundMsesage) X(RoundMesasge) X(RoundMessgae) X(RoundMessaeg) X(RoundMessages)          \
  X(MessageOfRound)
#define CHATTY_DETAIL_LIKE_IsActive(X)                                                                                      \
  X(isActive) X(Isactive) X(isactive) X(is_active) X(IActive) X(IsAtive) X(IsAcive) X(IsActve) X(IsActie) X(IsActiv)        \
  X(IsAtcive) X(IsAcitve) X(IsActvie) X(IsActiev) X(IsActivated)
#define CHATTY_DETAIL_LIKE_Measure(X)                                                                                       \
  X(measure) X(Masure) X(Mesure) X(Meaure) X(Measre) X(Measue) X(Measur) X(Maesure) X(Mesaure) X(Meausre) X(Measrue)        \
  X(Measuer) X(Measures)
#define CHATTY_DETAIL_LIKE_EndRound(X)                                                                                      \
  X(endRound) X(Endround) X(endround) X(end_round) X(EdRound) X(EnRound) X(EndRund) X(EndRond) X(EndRoud) X(EndRoun)        \
  X(EdnRound) X(EndRuond) X(EndRonud) X(EndRoudn) X(EndRounds) X(EndOfRound) X(RoundEnd) X(AfterRound) X(OnEndRound)        \
  X(FinishRound)
#define CHATTY_DETAIL_LIKE_Output(X)                                                                                        \
  X(output) X(Otput) X(Ouput) X(Outut) X(Outpt) X(Outpu) X(Otuput) X(Ouptut) X(Outupt) X(Outptu) X(Outputs) X(GetOutput)
#define CHATTY_DETAIL_LIKE_Priority(X)                                                                                      \
  X(priority) X(Piority) X(Prority) X(Pririty) X(Prioity) X(Priorty) X(Prioriy) X(Priorit) X(Pirority) X(Proirity)          \
  X(Priroity) X(Prioirty) X(Priortiy) X(Prioriyt) X(Priorities) X(GetPriority)
#define CHATTY_DETAIL_LIKE_Combine(X)                                                                                       \
  X(combine) X(Cmbine) X(Cobine) X(Comine) X(Combne) X(Combie) X(Combin) X(Cmobine) X(Cobmine) X(Comibne) X(Combnie)        \
  X(Combien) X(Combines) X(CombineGlobal) X(CombineGlobals)
#define CHATTY_DETAIL_LIKE_kEdges(X)                                                                                        \
  X(kedges) X(KEdges) X(Kedges) X(k_edges) X(kEges) X(kEdes) X(kEdgs) X(kEdge) X(kEgdes) X(kEdegs) X(kEdgse)
#define CHATTY_DETAIL_LIKE_kActivity(X)                                                                                     \
  X(kactivity) X(KActivity) X(Kactivity) X(k_activity) X(kAtivity) X(kAcivity) X(kActvity) X(kActiity) X(kActivty)          \
  X(kActiviy) X(kActivit) X(kAtcivity) X(kAcitvity) X(kActviity) X(kActiivty) X(kActivtiy) X(kActiviyt) X(kActive)
#define CHATTY_DETAIL_LIKE_kHints(X)                                                                                        \
  X(khints) X(KHints) X(Khints) X(Hints) X(k_hints) X(kHnts) X(kHits) X(kHins) X(kHint) X(kHitns) X(kHinst)
#define CHATTY_DETAIL_LIKE_kInfo(X)                                                                                         \
  X(kinfo) X(KInfo) X(Kinfo) X(Info) X(k_info) X(kIfo) X(kIno) X(kInf) X(kIfno) X(kInof) X(kInfos)
#define CHATTY_DETAIL_LIKE_kParameters(X)                                                                                   \
  X(kparameters) X(KParameters) X(Kparameters) X(Parameters) X(k_parameters) X(kPrameters) X(kPaameters) X(kParmeters)      \
  X(kParaeters) X(kParamters) X(kParameers) X(kParametrs) X(kParametes) X(kParameter) X(kPraameters) X(kPaarmeters)         \
  X(kParmaeters) X(kParaemters) X(kParamteers) X(kParameetrs) X(kParametres) X(kParametesr) X(kParams)
#define CHATTY_DETAIL_LIKE_Weight(X)                                                                                        \
  X(weight) X(Weights) X(EdgeWeight)
#define CHATTY_DETAIL_LIKE_Shared(X)                                                                                        \
  X(shared) X(SharedValue)
#define CHATTY_DETAIL_LIKE_Global(X)                                                                                        \
  X(global) X(Globals)
#define CHATTY_DETAIL_LIKE_Input(X)                                                                                         \
  X(input) X(InputValue) X(Inputs)
// clang-format on

template <class T>
inline constexpr bool kIsFunction = std::is_member_function_pointer_v<T> ||
                                    (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>);

// Whether P has a member that is never used and that may have been meant to be `Name`, which P does not have. A program may
// hold parameters of any name, but none is a function.
#define CHATTY_DETAIL_ANY_FUNCTION(Wrong) \
  || requires { requires kIsFunction<decltype(&P::Wrong)>; }
#define CHATTY_DETAIL_ANY_CONSTANT(Wrong) \
  || requires { P::Wrong; }
#define CHATTY_DETAIL_ANY_TYPE(Wrong) \
  || requires { typename P::Wrong; }
#define CHATTY_DETAIL_MISSPELT(Name, Test, has)                    \
  template <class P>                                               \
  constexpr bool Misspells##Name() {                               \
    constexpr bool kFound = false CHATTY_DETAIL_LIKE_##Name(Test); \
    if constexpr (kFound) return !(has);                           \
    return false;                                                  \
  }
CHATTY_DETAIL_MISSPELT(Share, CHATTY_DETAIL_ANY_FUNCTION, NamesShare<P>())
CHATTY_DETAIL_MISSPELT(Consume, CHATTY_DETAIL_ANY_FUNCTION, NamesConsume<P>())
CHATTY_DETAIL_MISSPELT(Filter, CHATTY_DETAIL_ANY_FUNCTION, NamesFilter<P>())
CHATTY_DETAIL_MISSPELT(AllowsGaussSeidel, CHATTY_DETAIL_ANY_FUNCTION, NamesAllowsGaussSeidel<P>())
CHATTY_DETAIL_MISSPELT(RoundMessage, CHATTY_DETAIL_ANY_FUNCTION, NamesRoundMessage<P>())
CHATTY_DETAIL_MISSPELT(IsActive, CHATTY_DETAIL_ANY_FUNCTION, NamesIsActive<P>())
CHATTY_DETAIL_MISSPELT(Measure, CHATTY_DETAIL_ANY_FUNCTION, NamesMeasure<P>())
CHATTY_DETAIL_MISSPELT(EndRound, CHATTY_DETAIL_ANY_FUNCTION, NamesEndRound<P>())
CHATTY_DETAIL_MISSPELT(Output, CHATTY_DETAIL_ANY_FUNCTION, NamesOutput<P>())
CHATTY_DETAIL_MISSPELT(Priority, CHATTY_DETAIL_ANY_FUNCTION, NamesPriority<P>())
CHATTY_DETAIL_MISSPELT(Combine, CHATTY_DETAIL_ANY_FUNCTION, NamesCombine<P>())
CHATTY_DETAIL_MISSPELT(kEdges, CHATTY_DETAIL_ANY_CONSTANT, (requires { P::kEdges; }))
CHATTY_DETAIL_MISSPELT(kActivity, CHATTY_DETAIL_ANY_CONSTANT, (requires { P::kActivity; }))
CHATTY_DETAIL_MISSPELT(kHints, CHATTY_DETAIL_ANY_CONSTANT, (requires { P::kHints; }))
CHATTY_DETAIL_MISSPELT(kInfo, CHATTY_DETAIL_ANY_CONSTANT, (requires { P::kInfo; }))
CHATTY_DETAIL_MISSPELT(kParameters, CHATTY_DETAIL_ANY_CONSTANT, (requires { P::kParameters; }))
CHATTY_DETAIL_MISSPELT(Weight, CHATTY_DETAIL_ANY_TYPE, (requires { typename P::Weight; }))
CHATTY_DETAIL_MISSPELT(Shared, CHATTY_DETAIL_ANY_TYPE, (requires { typename P::Shared; }))
CHATTY_DETAIL_MISSPELT(Global, CHATTY_DETAIL_ANY_TYPE, (requires { typename P::Global; }))
CHATTY_DETAIL_MISSPELT(Input, CHATTY_DETAIL_ANY_TYPE, (requires { typename P::Input; }))
#undef CHATTY_DETAIL_MISSPELT
#undef CHATTY_DETAIL_ANY_FUNCTION
#undef CHATTY_DETAIL_ANY_CONSTANT
#undef CHATTY_DETAIL_ANY_TYPE

template <class P>
constexpr bool MisspellsMember() {
  return MisspellsShare<P>() || MisspellsConsume<P>() || MisspellsFilter<P>() || MisspellsAllowsGaussSeidel<P>() ||
         MisspellsRoundMessage<P>() || MisspellsIsActive<P>() || MisspellsMeasure<P>() || MisspellsEndRound<P>() ||
         MisspellsOutput<P>() || MisspellsPriority<P>() || MisspellsCombine<P>() || MisspellskEdges<P>() ||
         MisspellskActivity<P>() || MisspellskHints<P>() || MisspellskInfo<P>() || MisspellskParameters<P>() ||
         MisspellsWeight<P>() || MisspellsShared<P>() || MisspellsGlobal<P>() || MisspellsInput<P>();
}

// Fails to compile, once for each such member.
template <class P>
constexpr void RejectMisspelling() {
#define CHATTY_DETAIL_REJECT(Name)                                                             \
  static_assert(!Misspells##Name<P>(), "the program has a member that is nearly called " #Name \
                                       " and that is never used: write `" #Name "`, or call it something else");
  CHATTY_DETAIL_REJECT(Share)
  CHATTY_DETAIL_REJECT(Consume)
  CHATTY_DETAIL_REJECT(Filter)
  CHATTY_DETAIL_REJECT(AllowsGaussSeidel)
  CHATTY_DETAIL_REJECT(RoundMessage)
  CHATTY_DETAIL_REJECT(IsActive)
  CHATTY_DETAIL_REJECT(Measure)
  CHATTY_DETAIL_REJECT(EndRound)
  CHATTY_DETAIL_REJECT(Output)
  CHATTY_DETAIL_REJECT(Priority)
  CHATTY_DETAIL_REJECT(Combine)
  CHATTY_DETAIL_REJECT(kEdges)
  CHATTY_DETAIL_REJECT(kActivity)
  CHATTY_DETAIL_REJECT(kHints)
  CHATTY_DETAIL_REJECT(kInfo)
  CHATTY_DETAIL_REJECT(kParameters)
  CHATTY_DETAIL_REJECT(Weight)
  CHATTY_DETAIL_REJECT(Shared)
  CHATTY_DETAIL_REJECT(Global)
  CHATTY_DETAIL_REJECT(Input)
#undef CHATTY_DETAIL_REJECT
}
/// @endcond

}  // namespace chatty::detail
