// SPDX-License-Identifier: MIT
// An object that is loaded at run time, in C++ with a template, an inline function and a lambda.
#include <pantrace/pantrace.h>
#include <string>
#include <string_view>

enum class Colour : short { red, green };

template <class T> static T templated(T x)
{
	PANTRACE(plugin, templated, x, sizeof(T));
	return x;
}

inline int in_header(int x)
{
	PANTRACE(plugin, in_header, x);
	return x;
}

struct Thing {
	int member;
	void method(const std::string &s, std::string_view v, Colour c)
	{
		PANTRACE(plugin, method, member, s, v, c, this, true, nullptr, "literal");
	}
};

extern "C" void plugin_event(int n);
void plugin_event(int n)
{
	long array[3] = { 1, 2, 3 };
	auto lambda = [&] { PANTRACE(plugin, lambda, n, PT_SEQ(array, 3)); };

	PANTRACE(test, from_plugin, n);
	Thing{ n }.method("string", "view", Colour::green);
	lambda();
	if (PANTRACE_ENABLED(plugin, lambda))
		templated(templated(n) + templated(2.0));
	in_header(n);
}
