#!/srv/nova/python
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nova-compute without its cloud: Nova's own LibvirtDriver, called as ComputeManager calls it.

Reads commands from standard input, a line each, and answers each with a line, `ok ...` or `error CLASS: message`.
A life of nova-compute is a process of its own, forked off, because the import
alone takes a minute in a test machine; the first answer comes after it:

  start            a new one, after the last one's end; reads nova.conf, runs init_host and reports its inventory
  kill             ends it with SIGKILL
  fresh            forgets the instances; an error if a claim of a migration is remembered
  inventory        CARD=TOTAL for each provider of VGPU, by update_provider_tree; none: no provider
  providers        the same, PROVIDER=TOTAL
  spawn NAME... [memory=MIB] [card=ADDRESS]     several names: at once, each answered with its own `ok` or `error`;
                                                each has been given its mdev before any is defined
  spawn NAME broken=1                           fails when the mdev has been made
  destroy, suspend, resume, poweroff, poweron, reboot, soft, hostboot NAME
  race A B         hard reboot of A; while A is undefined, spawn of B
  orphans N        mdevs as a spawn leaves them that fails in Nova: no guest has had them
  precheck NAME SOURCE-TYPES [N]  the target's side of a live migration: so many allocated
  rollback, lingering NAME        its ends
  destination, source, claim, arriving, migrate, arrived, claims NAME [WORD...]    all of one: migration.py
  allocate NAME N  the mdev that each of so many spawns would get
  mdevs NAME       the UUIDs that the driver knows the instance to have

What is not libvirt is made here: the instances (a flavor with resources:VGPU=1 and an image that is in the cache),
their allocations in Placement, and a database that forgets.
"""
import gc
import os
import signal
import sys
import traceback
# eventlet's would run its loop in this process, too
from os import fork, waitpid, write

STATE = '/var/lib/nova'


def prepare():
    """Imports what a life needs, so that none has to."""
    import nova.monkey_patch  # noqa: F401  before all others, as nova-compute does
    import nova.compute.provider_tree
    import nova.config
    import nova.context
    import nova.objects
    import nova.privsep
    import nova.virt.driver
    import nova.virt.fake
    import nova.virt.libvirt.driver  # noqa: F401
    nova.objects.register_all()
    # root already: no second process is needed for what takes privileges
    nova.privsep.sys_admin_pctxt.set_client_mode(False)


def start():
    command_in, command_out = os.pipe()
    answer_in, answer_out = os.pipe()
    pid = fork()
    if pid == 0:
        os.close(command_out)
        os.close(answer_in)
        null = os.open('/dev/null', os.O_RDWR)
        log = os.open(STATE + '/stderr', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            import life
            life.live(command_in, answer_out)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(command_in)
    os.close(answer_out)
    return pid, command_out, open(answer_in)


def end(life):
    if life:
        pid, commands, answers = life
        os.kill(pid, signal.SIGKILL)
        waitpid(pid, 0)
        os.close(commands)
        answers.close()


def main():
    # What is imported stays: no life's garbage collection goes over it, which also makes a copy of each page for that life
    gc.disable()
    prepare()
    gc.freeze()
    gc.enable()
    life = None
    for line in sys.stdin:
        if line.strip() in ('start', 'kill'):
            end(life)
            life = start() if line.strip() == 'start' else None
            if not life:
                print('ok', flush=True)
                continue
        elif life:
            try:
                write(life[1], line.encode())
            except BrokenPipeError:
                pass  # its answer is its end
        else:
            print('error: nova-compute does not run', flush=True)
            continue
        print(life[2].readline().strip() or 'error: nova-compute has died', flush=True)
    end(life)


main()
