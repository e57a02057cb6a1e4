# SPDX-License-Identifier: LGPL-2.1-or-later
"""A life of nova-compute: what compute.py's commands do, with Nova's own LibvirtDriver."""
import json
import os
import uuid

import eventlet
import nova.conf
from eventlet import hubs
from eventlet.greenio import GreenPipe
from nova import config, context, exception, objects
from nova.compute import provider_tree
from nova.network import model
from nova.virt import driver, fake
from oslo_log import log

from migration import Migrations

STATE = '/var/lib/nova'
CONF_FILE = '/etc/nova/nova.conf'
IMAGE = '11111111-1111-4111-8111-111111111111'


class Allocations:
    """Placement's part: which card an instance has been given. Outlives nova-compute."""

    def __init__(self, life):
        self.life = life

    @staticmethod
    def _file(instance_uuid):
        return os.path.join(STATE, instance_uuid + '.json')

    def claim(self, instance_uuid, card, count=1):
        tree = self.life.tree
        totals = self.life.totals()
        if not totals:
            raise RuntimeError('NoValidHost')
        card = card or next(iter(totals))
        assert card in totals, 'NoValidHost'
        with open(self._file(instance_uuid), 'w') as file:
            json.dump([card, count], file)
        return {tree.data(self.life.provider(card)).uuid: {'resources': {'VGPU': count}}}

    def get_allocations_for_consumer(self, _context, instance_uuid):
        with open(self._file(instance_uuid)) as file:
            card, count = json.load(file)
        return {self.life.tree.data(self.life.provider(card)).uuid: {'resources': {'VGPU': count}}}


class Life(Migrations):
    def __init__(self):
        self.context = context.RequestContext('user', 'project', is_admin=True)
        objects.Instance.save = objects.Migration.save = lambda *_args, **_kwargs: None
        objects.Service.get_by_compute_host = staticmethod(self.no_service)
        for kind in (objects.VirtualInterfaceList, objects.BlockDeviceMappingList, objects.ShareMappingList):
            kind.get_by_instance_uuid = staticmethod(lambda *_args, kind=kind, **_kwargs: kind(objects=[]))
        objects.InstanceList.get_by_host = staticmethod(lambda *_args, **_kwargs: [])
        config.parse_args(['nova-compute'], default_config_files=[CONF_FILE], configure_db=False, init_rpc=False)
        log.setup(config.CONF, 'nova')
        nova.conf.neutron.register_dynamic_opts(config.CONF)
        nova.conf.devices.register_dynamic_opts(config.CONF)
        virtapi = fake.FakeVirtAPI()
        virtapi.reportclient = self.allocations = Allocations(self)
        self.driver = driver.load_compute_driver(virtapi, 'libvirt.LibvirtDriver')
        # Neutron's part; no instance has a port.
        self.driver._network_api.has_port_binding_extension = lambda *_args, **_kwargs: False
        self.driver.init_host(config.CONF.host)
        self.node = self.driver.get_available_nodes()[0]
        self.tree = provider_tree.ProviderTree()
        self.tree.new_root(self.node, str(uuid.uuid4()))
        self.instances = {}

    @staticmethod
    def no_service(_context, host):
        raise exception.ComputeHostNotFound(host=host)

    ### What Placement sees

    def provider(self, card):
        return '%s_pci_%s' % (self.node, card.replace(':', '_').replace('.', '_'))

    def inventories(self):
        """The total of VGPU of each provider, in the order of their names."""
        self.driver.update_provider_tree(self.tree, self.node)
        found = {data.name: data.inventory for data in map(self.tree.data, self.tree.get_provider_uuids(self.node))}
        return {name: found[name]['VGPU']['total'] for name in sorted(found) if 'VGPU' in found[name]}

    def totals(self):
        return {'%s:%s:%s.%s' % tuple(name.rsplit('_pci_', 1)[1].split('_')): total
                for name, total in self.inventories().items()}

    ### Instances

    def instance(self, name, memory=32):
        if name in self.instances and self.instances[name].flavor.memory_mb == memory:
            return self.instances[name]
        number = int.from_bytes(name.encode()[:4], 'big')
        flavor = objects.Flavor(id=1, flavorid='1', name='vgpu.tiny', memory_mb=memory, vcpus=1, root_gb=0,
                                ephemeral_gb=0, swap=0, rxtx_factor=1.0, vcpu_weight=0, disabled=False, is_public=True,
                                extra_specs={'resources:VGPU': '1'}, description=None)
        metadata = {'image_disk_format': 'raw', 'image_container_format': 'bare', 'image_min_disk': '0',
                    'image_min_ram': '0', 'image_hw_machine_type': 'pc', 'image_base_image_ref': IMAGE}
        self.instances[name] = objects.Instance(
            self.context, id=number, uuid=str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), display_name=name, hostname=name,
            user_id='user', project_id='project', host=self.node, node=self.node, image_ref=IMAGE, kernel_id='',
            ramdisk_id='', root_device_name='/dev/vda', default_ephemeral_device=None, default_swap_device=None,
            config_drive='', os_type=None, key_data=None, architecture=None, vm_mode=None, access_ip_v4=None,
            access_ip_v6=None, metadata={}, system_metadata=metadata, flavor=flavor, old_flavor=None, new_flavor=None,
            memory_mb=memory, vcpus=1, root_gb=0, ephemeral_gb=0, ephemeral_key_uuid=None, vm_state='active',
            task_state=None, power_state=1, numa_topology=None, vcpu_model=None, trusted_certs=None, resources=None,
            migration_context=None, device_metadata=None, tags=objects.TagList(objects=[]), cleaned=False,
            hidden=False, deleted=False, pci_requests=objects.InstancePCIRequests(requests=[]),
            pci_devices=objects.PciDeviceList(objects=[]), ec2_ids=objects.EC2Ids(),
            info_cache=objects.InstanceInfoCache(network_info=self.network()))
        return self.instances[name]

    @staticmethod
    def network():
        return model.NetworkInfo([])

    def spawn(self, name, memory=32, card=None):
        instance = self.instance(name, memory)
        allocations = self.allocations.claim(instance.uuid, card)
        self.driver.spawn(self.context, instance, instance.image_meta, [], None, allocations, self.network(), {})

    ### Commands

    def do_fresh(self):
        """The instances are gone, as libvirt's domains are; a claim stays."""
        self.instances.clear()
        assert not self.driver.instance_claimed_mdevs

    def do_inventory(self):
        return ' '.join('%s=%d' % item for item in self.totals().items())

    def do_providers(self):
        return ' '.join('%s=%d' % item for item in self.inventories().items())

    def do_spawn(self, *words):
        names = [w for w in words if '=' not in w]
        options = dict(w.split('=') for w in words if '=' in w)
        memory = int(options.get('memory', 32))
        if 'broken' in options:
            return self.broken(lambda: self.spawn(names[0], memory))
        if len(names) == 1:
            return self.spawn(names[0], memory, options.get('card'))
        return self.at_once(names, lambda name: self.spawn(name, memory, options.get('card')))

    def broken(self, function):
        """The XML cannot be made, after the mdev was."""
        get_xml = self.driver._get_guest_xml

        def fails(*_args, **_kwargs):
            raise RuntimeError('no XML')
        self.driver._get_guest_xml = fails
        try:
            return function()
        finally:
            self.driver._get_guest_xml = get_xml

    def at_once(self, names, function):
        """None defines its domain before all have been given their mdevs: what a busy host does, each time."""
        get_xml, waited_for, all_given = self.driver._get_guest_xml, set(names), eventlet.event.Event()

        def given(name):
            waited_for.discard(name)
            if not waited_for and not all_given.ready():
                all_given.send()

        def late(context, instance, *args, **kwargs):
            given(instance.display_name)
            all_given.wait()
            return get_xml(context, instance, *args, **kwargs)

        def one(name):
            try:
                return self.answer(function, name)
            finally:
                given(name)
        self.driver._get_guest_xml = late
        try:
            threads = [(name, eventlet.spawn(one, name)) for name in names]
            return '; '.join('%s %s' % (name, thread.wait()) for name, thread in threads)
        finally:
            self.driver._get_guest_xml = get_xml

    def do_destroy(self, name):
        self.driver.destroy(self.context, self.instance(name), self.network(), {})
        self.instances.pop(name)

    def do_suspend(self, name):
        self.driver.suspend(self.context, self.instance(name))

    def do_resume(self, name):
        self.driver.resume(self.context, self.instance(name), self.network(), {})

    def do_poweroff(self, name):
        self.driver.power_off(self.instance(name))

    def do_poweron(self, name):
        self.driver.power_on(self.context, self.instance(name), self.network(), {}, share_info=self.shares())

    def do_reboot(self, name, kind='HARD'):
        self.driver.reboot(self.context, self.instance(name), self.network(), kind, {}, share_info=self.shares())

    def do_soft(self, name):
        self.do_reboot(name, 'SOFT')

    def do_hostboot(self, name):
        self.driver.resume_state_on_host_boot(self.context, self.instance(name), self.network(), self.shares(), {})

    def do_race(self, first, second):
        """The pause between undefine and define that a loaded host makes, at its worst."""
        get_xml, gone, over = self.driver._get_guest_xml, eventlet.event.Event(), eventlet.event.Event()

        def late(context, instance, *args, **kwargs):
            xml = get_xml(context, instance, *args, **kwargs)
            if instance.display_name == first:
                gone.send()
                over.wait()
            return xml
        self.driver._get_guest_xml = late
        try:
            reboot = eventlet.spawn(self.answer, self.do_reboot, first)
            gone.wait()
            spawned = self.answer(self.spawn, second)
            over.send()
            return '%s %s; %s %s' % (first, reboot.wait(), second, spawned)
        finally:
            self.driver._get_guest_xml = get_xml

    def do_orphans(self, count):
        for _ in range(int(count)):
            assert self.driver._create_new_mediated_device(None)

    def do_precheck(self, name, types, count='1'):
        sources = {str(uuid.uuid4()): t for t in types.split(',')}
        data = objects.LibvirtLiveMigrateData(source_mdev_types=sources)
        instance = self.instance(name)
        allocations = self.allocations.claim(instance.uuid, None, int(count))
        data = self.driver.check_source_migrate_data_at_dest(self.context, instance, data, None, None, allocations)
        return ' '.join(data.target_mdevs.values())

    def do_lingering(self, name):
        self.driver.cleanup_lingering_instance_resources(self.instance(name))

    def do_allocate(self, name, count):
        """What several spawns at once would be given, before any of them has defined its domain."""
        allocations = self.allocations.claim(self.instance(name).uuid, None)
        return ' '.join(self.driver._allocate_mdevs(allocations)[0] for _ in range(int(count)))

    def do_mdevs(self, name):
        return ' '.join(self.driver._get_all_assigned_mediated_devices(self.instance(name)))

    def shares(self):
        return objects.ShareMappingList(objects=[])

    def answer(self, function, *args):
        try:
            return ('ok %s' % (function(*args) or '')).strip()
        except Exception as error:
            log.getLogger('nova.compute').exception('failed')
            text = ' '.join(str(error).split())
            return 'error %s: %s' % (type(error).__name__, text[:600])


def live(commands, answers):
    """One life: a command, an answer, until the commands end."""
    hubs.use_hub()  # of its own: a loop that two processes share serves neither
    commands, answers = GreenPipe(commands, 'r'), GreenPipe(answers, 'w')
    life = Life.__new__(Life)
    line = life.answer(lambda: (life.__init__(), life.do_inventory())[1])
    started = line.startswith('ok')
    while True:
        answers.write(line + '\n')
        answers.flush()
        words = commands.readline().split() if started else []
        if not words:
            os._exit(0)
        line = life.answer(getattr(life, 'do_' + words[0]), *words[1:])
