# SPDX-License-Identifier: LGPL-2.1-or-later
# What Nova's own code makes of the files that `vgpu-lease export` writes.
#
#   exports.py release                Nova's
#   exports.py providers DIRECTORY    the providers of a provider_config_location, each with its traits, as nova-compute
#                                     reads them; or "refused: ..."
#   exports.py pci FILE               how many PCI devices each [pci] device_spec of a nova.conf matches, and its
#                                     aliases, as nova-compute and the scheduler read them; or "refused: ..."
import logging
import sys

from nova.compute import provider_config
from nova import conf
from nova import exception
from nova.pci import devspec
from nova.pci import request
from nova import version
from oslo_serialization import jsonutils

logging.disable(logging.CRITICAL)


RELEASE = version.version_string()


def providers(directory):
    configs = provider_config.get_provider_configs(directory)
    for name, provider in sorted(configs.items()):
        print(name, *provider["traits"]["additional"])


def pci(path):
    conf.CONF([], project="nova", default_config_files=[path])
    for text in conf.CONF.pci.device_spec:
        spec = devspec.PciDeviceSpec(jsonutils.loads(text))
        pci = spec.address.pci_address_spec
        address = "%s:%s:%s.%s" % (pci.domain, pci.bus, pci.slot, pci.func)
        matches = spec.match({"vendor_id": "10de", "product_id": "0000", "address": address, "parent_addr": None})
        print("device", address, matches, *("%s=%s" % tag for tag in sorted(spec.get_tags().items())))
    # What Nova 2025.1 (31) takes in an alias, and an earlier one does not know.
    for key in ("live_migratable", "resource_class") if int(RELEASE.split(".")[0]) < 31 else ():
        request._ALIAS_SCHEMA["properties"].setdefault(key, {"type": "string"})
    for name, alias in sorted(request._get_alias_from_config().items()
                              if hasattr(request, "_get_alias_from_config")
                              else request.get_alias_from_config().items()):
        print("alias", name, *("%s=%s" % item for item in sorted(alias[1][0].items())))


try:
    {"release": lambda: print(RELEASE), "providers": providers, "pci": pci}[sys.argv[1]](*sys.argv[2:])
except exception.NovaException as refusal:
    print("refused:", refusal)
