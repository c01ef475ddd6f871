// A source of the project that has nothing to do with chatty: compiled as that project says.
#if __cplusplus >= 202002L
#error "chatty changed the language of a target that does not use it"
#endif
#ifdef _OPENMP
#error "chatty switched OpenMP on in a target that does not use it"
#endif
#ifdef CHATTY_VERTEX_BITS
#error "chatty's definitions reach a target that does not use it"
#endif
int main() {}
