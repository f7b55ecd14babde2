// The one place where stb_truetype is compiled. It reads the two embedded fonts only, nothing that
// a user gives.
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb/stb_truetype.h>
