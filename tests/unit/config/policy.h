/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether two policies are the same: each member, as what lies between them has no value. */
#pragma once

#include "config/config.h"

static inline bool same_policy(const struct policy *a, const struct policy *b)
{
#define SAME(member) (a->member == b->member)
	return SAME(placement) && SAME(migrate_keep) && SAME(reuse_free) && SAME(reclaim_orphans) && SAME(nova) &&
	       SAME(mismatch_warns) && SAME(cross_framework) && SAME(metrics) && SAME(several_types) &&
	       SAME(reclaim_grace_s) && SAME(reserve_ttl_s) && SAME(create_timeout_s) && SAME(start_grace_s) &&
	       SAME(release_wait_s) && SAME(release_timeout_s) && SAME(driver_cleanup_s) && SAME(lock_timeout_s);
#undef SAME
}
