// SPDX-License-Identifier: MIT
// Beside the program's main: a call of the driver, so that its library is needed for one.
#include <cuda.h>
#include <cstdlib>

static struct driver {
	driver()
	{
		int version = 0;

		if (cuDriverGetVersion(&version) || version < 12000)
			std::abort();
	}
} once;
