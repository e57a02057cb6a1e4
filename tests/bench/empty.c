/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor: what it takes to start a program that does nothing. */
int main(void)
{
	return 0;
}
