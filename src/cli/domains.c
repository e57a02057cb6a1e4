/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The domains of this host that a command line may name. */
#include "cli/domains.h"

#include <errno.h>

#include "base/ident.h"
#include "base/text.h"
#include "host/libvirt_files.h"
#include "model/lease.h"
#include "state/lease_store.h"

static bool is_leased(const struct leases *leases, const char *domain)
{
	for (size_t i = 0; i < leases->n; i++)
		if (lease_is_of(&leases->list[i], domain))
			return true;
	return false;
}

bool domains_know(const struct cmd *cmd, const char *domain, struct err *why)
{
	autoleases struct leases leases = { 0 };
	struct libvirt_files *files = NULL;
	const char *unread;
	bool known;

	*why = (struct err){ 0 };
	if (lease_list(&cmd->store, &leases, why) < 0)
		return true;
	known = is_leased(&leases, domain);
	if (known || libvirt_files_read(&files, &cmd->host, why) < 0)
		return true;
	known = libvirt_files_has(files, domain);
	unread = libvirt_files_unread(files, false);
	if (!known && unread)
		err_set(why, EIO, "%s", unread);
	libvirt_files_free(files);
	return known || unread;
}

int domains_suggest(const struct cmd *cmd, const char *domain, struct err *err)
{
	autoleases struct leases leases = { 0 };
	struct libvirt_files *files = NULL;
	struct text_guess guess = { .word = domain };
	struct err ignored;
	const char *name;
	char pci[PCI_SIZE];

	if (lease_list(&cmd->store, &leases, &ignored) == 0)
		for (size_t i = 0; i < leases.n; i++)
			text_guess(&guess, leases.list[i].name);
	if (libvirt_files_read(&files, &cmd->host, &ignored) == 0)
		for (size_t i = 0; (name = libvirt_files_name(files, i)); i++)
			text_guess(&guess, name);
	if (!guess.best && pci_guess(pci, domain))
		guess.best = pci;
	if (guess.best)
		text_add(err->text, sizeof(err->text), "; similar: %s", guess.best);
	libvirt_files_free(files);
	return -err->code;
}

int domains_check(const struct cmd *cmd, struct err *err)
{
	const char *domain = cmd->call->domain;
	struct err why;

	if (!domain)
		return 0;
	if (domains_know(cmd, domain, &why)) {
		if (why.code)
			out_warn("--domain %s: no lease; cannot tell whether the domain exists: %s", domain, why.text);
		return 0;
	}
	err_set(err, ENOENT, "--domain %s: no such domain on this host", domain);
	return domains_suggest(cmd, domain, err);
}
