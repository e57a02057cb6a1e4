#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files for nova-compute, and what Nova makes of them.

    nova.py make DIR COUNT SEED    writes COUNT hosts, DIR/0000 and so on, and prints their names and kinds; those without a
                                   kind of their own are "usual", or "odd" if something in them is other than in a manual
    nova.py read                   reads such names; prints the pool that Nova has there, in the words of pools.c
    nova.py ask                    the same, but asks the Nova that is installed: its options and its driver

`read` is oslo.config itself with Nova's options (nova/conf/devices.py), and what its libvirt driver does with them
(_get_supported_vgpu_types and _validate_device_address in nova/virt/libvirt/driver.py, 2026.2).
"""
import logging
import os
import random
import re
import sys

CLASS = r'^(VGPU|CUSTOM_[A-Z0-9_]+)$'
PCI = re.compile(r'^([\da-fA-F]{4}):([\da-fA-F]{2}):([\da-fA-F]{2}).([0-7])$')
DEVICE = re.compile(r'[\da-f]{4}:[\da-f]{2}:[01][\da-f]\.[0-7]')
TYPE = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]*')

# --- Nova


def options(cfg, conf):
    conf.register_opts([cfg.ListOpt('enabled_mdev_types', default=[], deprecated_name='enabled_vgpu_types')],
                       group='devices')


def options_of_types(cfg, conf):
    for kind in conf.devices.enabled_mdev_types:
        group = 'mdev_%s' % kind
        conf.register_opt(cfg.ListOpt('device_addresses', default=[], item_type=cfg.types.String(),
                                      deprecated_group='vgpu_%s' % kind), group=group)
        conf.register_opt(cfg.StrOpt('mdev_class', default='VGPU', regex=CLASS, max_length=255), group=group)
        conf.register_opt(cfg.IntOpt('max_instances', default=None, min=1), group=group)


class Pool:
    def __init__(self, host, conf):
        self.rest, self.classes, self.types, self.max = None, {}, {}, {}
        for kind in conf.devices.enabled_mdev_types:
            group = getattr(conf, 'mdev_%s' % kind)
            mdev_class = group.mdev_class
            if group.max_instances:
                self.max[kind] = group.max_instances
            if not group.device_addresses:
                self.rest = self.rest or kind
                continue
            for address in group.device_addresses:
                if address in self.types:
                    raise ValueError('duplicate types for PCI ID %s' % address)
                if not PCI.match(address) and not os.path.exists(
                        '%s/sys/devices/virtual/%s' % (host, address.replace('_', '/'))):
                    raise ValueError('incorrect device address: %s' % address)
                self.types[address] = kind
                self.classes[address] = mdev_class

    def devices(self):
        """What the addresses are to a host: sysfs and libvirt spell them in lower case, libvirt says mtty_mtty."""
        for address, kind in self.types.items():
            if address == 'mtty_mtty':
                yield 'mtty', kind, self.classes[address]
            elif DEVICE.fullmatch(address):
                yield address, kind, self.classes[address]

    def __str__(self):
        def name(kind):
            return kind if TYPE.fullmatch(kind) and len(kind) < 64 else '-'
        words = ['rest=%s/%s' % ((name(self.rest), 'VGPU') if self.rest else ('', ''))]
        words += sorted('%s=%s/%s' % (address, name(kind), cls) for address, kind, cls in self.devices())
        serving = [kind for _, kind, _ in self.devices()] + [self.rest]
        words += ['max(%s)=%d' % (kind, min(number, 65535)) for kind, number in self.max.items()
                  if kind in serving and name(kind) != '-']
        return ' '.join(words)


class Driver(Pool):
    """The pool of Nova's own driver."""
    def __init__(self, driver):
        self.rest, self.classes, self.types = driver.pgpu_type_default, driver.mdev_class_mapping, driver.pgpu_type_mapping
        self.max = driver.mdev_type_max_mapping


def arguments(host):
    args = []
    with open(host + '/etc/vgpu-lease.conf', encoding='utf-8') as ours:
        for path in ours.read().split('=', 1)[1].split(','):
            path = host + path.strip()
            args += ['--config-dir' if os.path.isdir(path) else '--config-file', path]
    return args


def read(host):
    from oslo_config import cfg
    conf = cfg.ConfigOpts()
    options(cfg, conf)
    try:
        conf(arguments(host), project='nova', default_config_files=[], default_config_dirs=[])
        options_of_types(cfg, conf)
        return str(Pool(host, conf))
    except Exception as error:
        return 'refused: %s' % ' '.join(str(error).split())


def ask(host):
    """As a nova-compute that starts: Nova reads its files once in a process."""
    import nova.conf  # noqa: F401 here, once for all
    from nova import config
    from nova.virt.libvirt.driver import LibvirtDriver
    answers, ours = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ours)
        with open(answers, encoding='utf-8') as answer:
            text = answer.read()
        os.waitpid(pid, 0)
        return text or 'refused: no answer'
    try:
        config.parse_args(['nova-compute'] + arguments(host), default_config_files=[], configure_db=False, init_rpc=False)
        driver = LibvirtDriver.__new__(LibvirtDriver)
        driver.pgpu_type_default, driver.pgpu_type_mapping, driver.mdev_class_mapping = None, {}, {}
        driver.mdev_classes, driver.mdev_type_max_mapping = set(), {}
        driver._get_supported_vgpu_types()
        text = str(Driver(driver))
    except Exception as error:
        text = 'refused: %s' % ' '.join(str(error).split())
    os.write(ours, text.encode())
    os._exit(0)


# --- Files

TYPES = ['nvidia-35', 'nvidia-36', 'nvidia-222', 'mtty-1', 'i915-GVTg_V5_4', 'v100', 'V100']
ODD_TYPES = ['nvidia-35 # small', 'nvidia-35 ; small', 'nvidia 35', '', "'nvidia-35'", '"', 'NVIDIA-35', '%(x)s', '-1',
             'nvidia-35;nvidia-36', 'x' * 70, 'nvidia-\u00b5', '$nvidia-35', '$$1', '$5', '\\$x', '${a-b}', 'gibts.net',
             '\u00a0nvidia-35\u2003']
ADDRESSES = ['0000:%s:00.%d' % (bus, function) for bus in ('84', '85', '86', '3b', 'af') for function in (0, 4)]
ODD_ADDRESSES = ['0000:3B:00.0', '0000:3B:00.4', '00000000:84:00.0', '84:00.0', 'pci_0000_84_00_0', 'mtty_mtty', 'mtty', '',
                 '0000:84:00.0 # first', "'0000:84:00.0'", '0000:84:00x0', '0000:84:00.8', 'gpu0', '0000:84:20.0', '$host',
                 'mdpy', '$mdev_class', '[0000:84:00.0]', '0000:84:00\u00b50', '\u00a00000:86:00.0']
CLASSES = ['VGPU', 'CUSTOM_SMALL', '"CUSTOM_SMALL"', "'VGPU'"]
ODD_CLASSES = ['', 'vgpu', 'CUSTOM_small', 'CUSTOM_', 'VGPU # default', '$mdev_class', '$$', 'CUSTOM_' + 'A' * 248,
               'CUSTOM_' + 'A' * 249, 'VGPU VGPU', '${mdev_v100.mdev_class}', 'CUSTOM_$max_instances', '"VGPU']
NUMBERS = ['1', '4', '16', '007', ' 8 ', '"2"']
ODD_NUMBERS = ['0', '-1', '', 'ten', '1_000', '1__0', '_1', '1_', '+5', '99999999999', '0x10', '4.0', '4 # all', '""', '$mdev_class',
               '$max_instances', '$mdev_v100.max_instances', '${max_instances}', '4\u00a0', '$my_ip', '- 1', '65536', '1 0']
ODD_LINES = ['stray', '=', ': 1', '= 1', '\ufeff', '\x0b', '\x0cx = 1', '[', '[]', '[x', '[devices] # here', '[devices]]',
             '[ devices ]', '[[devices]]', '   more', '\tmore', '\u00a0x = y', '# [devices]', '; a = b', '  # comment',
             '%include x', '!x = y', '[DEVICES]', '[Devices]', '[MDEV_NVIDIA-35]', '[VGPU_V100]', '[devices]', '[DEFAULT]',
             'x = [devices]', 'enabled-mdev-types = v100', 'ENABLED_MDEV_TYPES = v100', 'a = $b', '"x" = 1']


class Files:
    """One host's files. `odd`: how often something is other than in a manual."""

    def __init__(self, rng, odd):
        self.rng, self.odd = rng, odd

    def pick(self, usual, unusual):
        return self.rng.choice(unusual if self.rng.random() < self.odd else usual)

    def listed(self, usual, unusual, most):
        chosen = self.rng.sample(usual, self.rng.randint(1, most))
        chosen = [self.rng.choice(unusual) if self.rng.random() < self.odd else item for item in chosen]
        if self.rng.random() < self.odd:
            chosen.insert(self.rng.randrange(len(chosen) + 1), self.rng.choice(chosen + ['']))
        comma = self.rng.choice([', ', ',', ',\n    ', ',\n\t', ' , '])
        if self.rng.random() < self.odd:
            comma = self.rng.choice(['\n  ', ' ', ',\n\n  ', ',\n# x\n  ', ',\n  # x\n  ', ',\u00a0', ',,', ';', ',\n'])
        text = comma.join(chosen) + self.pick([''], [',', ', ,', ',,', '\n ,'])
        return self.pick([text], ['"%s"' % text, "'%s'" % text, '"%s' % text])

    def key(self, name, value):
        return name + self.pick([' = ', '=', ': ', ':'], [' =\n  ', ' = = ', ' : = ', ' ', '\t=\t']) + value

    def types(self):
        return self.key(self.pick(['enabled_mdev_types'], ['enabled_vgpu_types']), self.listed(TYPES, ODD_TYPES, 3))

    def section(self, kind, addresses):
        name = kind.upper() if self.rng.random() < self.odd / 4 else kind
        lines = ['[%s_%s]' % (self.pick(['mdev'], ['vgpu', 'VGPU', 'Mdev']), name)]
        if addresses and self.rng.random() < 0.7:
            own = [addresses.pop() for _ in range(min(len(addresses), self.rng.randint(1, 2)))]
            lines.append(self.key('device_addresses', self.listed(own, ODD_ADDRESSES, len(own))))
        if self.rng.random() < 0.4:
            lines.append(self.key('max_instances', self.pick(NUMBERS, ODD_NUMBERS)))
        if self.rng.random() < 0.4:
            lines.append(self.key('mdev_class', self.pick(CLASSES, ODD_CLASSES)))
        if self.rng.random() < self.odd:
            lines.append(self.rng.choice(lines[1:] or ['x = y']))
        return lines

    def file(self):
        addresses = self.rng.sample(ADDRESSES, len(ADDRESSES))
        blocks = [['[DEFAULT]', 'debug = true', 'transport_url = rabbit://a:b@c', '# enabled_mdev_types = v100']]
        if self.rng.random() < 0.85:
            blocks.append(['[devices]', self.types()])
        if self.rng.random() < self.odd * 2:
            blocks.append([self.rng.choice(['[devices]', '[Devices]']), self.types()])
        if self.rng.random() < self.odd * 2:
            blocks[-1].append(self.types())
        blocks += [self.section(kind, addresses) for kind in self.rng.sample(TYPES, self.rng.randint(0, 4))]
        if self.rng.random() < self.odd:
            blocks.append(self.section(self.rng.choice(TYPES + ODD_TYPES), addresses))
        if self.rng.random() < self.odd:
            blocks.append(self.rng.choice(blocks))
        self.rng.shuffle(blocks)
        lines = [line for block in blocks for line in block + self.rng.choice([[], [''], ['# x'], [' ']])]
        if self.rng.random() < self.odd:
            lines.insert(self.rng.randrange(len(lines) + 1), self.rng.choice(ODD_LINES))
        text = self.pick(['\n'], ['\r\n', '\r', '\n\n']).join('\n'.join(lines).split('\n'))
        data = (text + self.pick(['\n'], ['', '\n\n', '\n  '])).encode()
        return self.pick([data], [data, data, b'\xef\xbb\xbf' + data])


# What D6 and the manuals name, word for word: each stands in every run.
KINDS = {
    'a key twice': '[devices]\nenabled_mdev_types = v100\nenabled_mdev_types = mtty-1\n',
    'a section twice': '[devices]\nenabled_mdev_types = v100\n[mdev_v100]\nmax_instances = 3\n[devices]\nx = y\n'
                       '[mdev_v100]\ndevice_addresses = 0000:84:00.0\n',
    'mdev_T beside vgpu_T': '[devices]\nenabled_mdev_types = v100\n[vgpu_v100]\ndevice_addresses = 0000:84:00.0\n'
                            '[mdev_v100]\ndevice_addresses = 0000:85:00.0\n',
    'vgpu_T for the key that mdev_T has not': '[devices]\nenabled_mdev_types = v100\n[vgpu_v100]\n'
                                              'device_addresses = 0000:84:00.0\n[mdev_v100]\nmax_instances = 2\n',
    'the old name beside the new one': '[devices]\nenabled_mdev_types = mtty-1\nenabled_vgpu_types = v100\n',
    'the old name alone': '[devices]\nenabled_vgpu_types = v100\n',
    'max_instances in vgpu_T': '[devices]\nenabled_mdev_types = v100\n[vgpu_v100]\nmax_instances = 2\nmdev_class = bad\n',
    'a class of the pGPUs that nobody names': '[devices]\nenabled_mdev_types = v100\n[mdev_v100]\nmdev_class = CUSTOM_A\n',
    'continuation lines': '[devices]\nenabled_mdev_types =\n  v100,\n\tmtty-1\n[mdev_v100]\ndevice_addresses = 0000:84:00.0,\n'
                          '  0000:85:00.0\n',
    'a comment within a list': '[devices]\nenabled_mdev_types = v100,\n# x\n  mtty-1\n',
    'a comment behind a value': '[devices]\nenabled_mdev_types = v100 # small\n',
    'quotes': '[devices]\nenabled_mdev_types = "v100, mtty-1"\n',
    'quotes around each': "[devices]\nenabled_mdev_types = 'v100', 'mtty-1'\n",
    'substitution within the type': '[devices]\nenabled_mdev_types = v100, mtty-1\n[mdev_v100]\nmax_instances = 3\n'
                                    'device_addresses = 0000:84:00.0\nmdev_class = CUSTOM_${max_instances}\n',
    'substitution from another type': '[devices]\nenabled_mdev_types = v100, b\n[mdev_v100]\nmax_instances = 3\n'
                                      'device_addresses = 0000:84:00.0\n[mdev_b]\nmax_instances = $mdev_v100.max_instances\n',
    'substitution in a circle': '[devices]\nenabled_mdev_types = a, b\n[mdev_a]\nmdev_class = $mdev_b.mdev_class\n'
                                '[mdev_b]\nmdev_class = $mdev_a.mdev_class\n',
    'substitution of what is not there': '[devices]\nenabled_mdev_types = $nothing\n',
    'an escaped dollar': '[devices]\nenabled_mdev_types = v100, a$$b, c\\$d\n[mdev_v100]\nmax_instances = 2\n',
    'interpolation is none': '[devices]\nenabled_mdev_types = %(x)s\n',
    'case of sections': '[DEVICES]\nenabled_mdev_types = V100\n[MDEV_v100]\ndevice_addresses = 0000:84:00.0\n',
    'case of keys': '[devices]\nEnabled_Mdev_Types = v100\n',
    'case of addresses': '[devices]\nenabled_mdev_types = v100\n[mdev_v100]\ndevice_addresses = 0000:3B:00.0\n',
    'one address under two types': '[devices]\nenabled_mdev_types = a, b\n[mdev_a]\ndevice_addresses = 0000:84:00.0\n'
                                   '[mdev_b]\ndevice_addresses = 0000:84:00.0\n',
    'two types in the same group': '[devices]\nenabled_mdev_types = v100, V100\n[mdev_v100]\n'
                                   'device_addresses = 0000:84:00.0\n',
    'a type twice': '[devices]\nenabled_mdev_types = v100, v100\n',
    'a type twice with addresses': '[devices]\nenabled_mdev_types = a, a\n[mdev_a]\ndevice_addresses = 0000:84:00.0\n',
    'an empty item first': '[devices]\nenabled_mdev_types = ,v100\n',
    'an empty list': '[devices]\nenabled_mdev_types =\n',
    'an empty file': '',
    'two types for what nobody names': '[devices]\nenabled_mdev_types = v100, mtty-1\n',
    'a line without =': '[DEFAULT]\ndebug\n[devices]\nenabled_mdev_types = v100\n',
    'a key before the first section': 'debug = true\n[devices]\nenabled_mdev_types = v100\n',
    'a header that does not end': '[devices\nenabled_mdev_types = v100\n',
    'an indented header': '[DEFAULT]\n\n  [devices]\n',
    'a virtual parent': '[devices]\nenabled_mdev_types = mtty-1\n[mdev_mtty-1]\ndevice_addresses = mtty_mtty\n',
    'a virtual parent as sysfs calls it': '[devices]\nenabled_mdev_types = mtty-1\n[mdev_mtty-1]\ndevice_addresses = mtty\n',
    'a section of a type that is not enabled': '[devices]\nenabled_mdev_types = v100\n[mdev_b]\nmax_instances = none\n',
}


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(data)


def make(host, rng, text):
    odd = rng.choice([0.0, 0.05, 0.1, 0.3])
    files = Files(rng, odd)
    paths = ['/etc/nova/nova.conf']
    write(host + paths[0], files.file() if text is None else text.encode())
    if text is None and rng.random() < 0.3:
        paths.append('/etc/nova/nova-compute.conf')
        write(host + paths[1], files.file())
    if text is None and rng.random() < 0.3:
        paths.insert(rng.randrange(len(paths) + 1), '/etc/nova/nova.conf.d')
        for name in rng.sample(['10-gpu.conf', '9-gpu.conf', 'B.conf', 'a.conf', '\u00e9.conf'], rng.randint(0, 3)):
            write('%s/etc/nova/nova.conf.d/%s' % (host, name), files.file())
        for name in ('.hidden.conf', 'a.conf.bak', 'README'):
            write('%s/etc/nova/nova.conf.d/%s' % (host, name), b'nonsense\n')
    if text is None and rng.random() < 0.02:
        paths.append('/etc/nova/missing.conf')
    write(host + '/etc/vgpu-lease.conf', ('[devices]\nnova_conf = %s\n' % ', '.join(paths)).encode())
    os.makedirs(host + '/sys/devices/virtual/mtty/mtty')
    return 'odd' if odd else 'usual'


def main():
    logging.disable()
    if sys.argv[1] in ('read', 'ask'):
        import oslo_config  # noqa: F401 what is missing is missing before the first name
        for line in sys.stdin:
            print({'read': read, 'ask': ask}[sys.argv[1]](line.rstrip('\n')))
        return
    directory, count, rng = sys.argv[2], int(sys.argv[3]), random.Random(sys.argv[4])
    for number, (kind, text) in enumerate(list(KINDS.items()) + [(None, None)] * (count - len(KINDS))):
        host = '%s/%04d' % (directory, number)
        how = make(host, rng, text)
        print('%s\t%s' % (host, kind or how))


main()
