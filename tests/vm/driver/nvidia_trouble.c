/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvidia: trouble. It comes by the parameters in /sys/module/nvidia/parameters, which can be written at any time:
 * `hang`, `slow` and `fail` are each a sum of steps, and `only` names the one card (its PF) that has trouble. A task
 * that hangs cannot be killed, as in drivers that wait for their firmware; it goes on when `hang` no longer names its
 * step.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sysfs.h>
#include <linux/wait.h>

#include "nvidia.h"

static DECLARE_WAIT_QUEUE_HEAD(told);
static unsigned int hang, slow, slow_ms, fail, fail_errno = EIO;
unsigned int plugin_ms;
static char only[16];

static int hang_set(const char *text, const struct kernel_param *param)
{
	int ret = param_set_uint(text, param);

	wake_up_all(&told);
	return ret;
}

static const struct kernel_param_ops hang_ops = { .set = hang_set, .get = param_get_uint };
module_param_cb(hang, &hang_ops, &hang, 0644);
MODULE_PARM_DESC(hang, "where to hang: 1 list, 2 current, 4 create, 8 remove, 16 params, 32 open, 64 close");
module_param(slow, uint, 0644);
MODULE_PARM_DESC(slow, "the steps that take slow_ms longer");
module_param(slow_ms, uint, 0644);
module_param(fail, uint, 0644);
MODULE_PARM_DESC(fail, "the steps that fail with fail_errno (not close)");
module_param(fail_errno, uint, 0644);
module_param(plugin_ms, uint, 0644);
MODULE_PARM_DESC(plugin_ms,
		 "how long vgpu-mgr holds on to a vGPU after its close: a removal waits, and is EBUSY after 5 s");
module_param_string(only, only, sizeof(only), 0644);
MODULE_PARM_DESC(only, "the one card that has trouble, as 0000:01:00.0; empty: all");

int pass(struct pci_dev *pdev, enum step step)
{
	if (only[0] && !sysfs_streq(only, pci_name(pci_physfn(pdev))))
		return 0;
	if (READ_ONCE(slow) & step)
		msleep(slow_ms);
	wait_event(told, !(READ_ONCE(hang) & step));
	return READ_ONCE(fail) & step ? -(int)fail_errno : 0;
}
