#!/bin/busybox sh
# The first process of a guest, from the initramfs. What it cannot do ends the guest.
b=/bin/busybox
fail() { echo "vm: $1"; $b poweroff -f; }
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
case " $($b cat /proc/cmdline) " in *" vm.probe "*) echo "vm: alive"; $b poweroff -f;; esac
while read -r module; do
    $b insmod "/modules/$module" || fail "cannot load $module"
done </modules/order
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=524288,cache=loose root /lower || fail "cannot mount the host's root"
$b mount -t tmpfs tmpfs /rw
$b mkdir /rw/upper /rw/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /new || fail "cannot put a layer above the host's root"
$b mkdir -p /new/run/vm
$b mount -t tmpfs tmpfs /new/run
$b mkdir /new/run/vm
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 shared /new/run/vm || fail "cannot mount the shared folder"
for folder in dev proc sys; do
    $b mount --move "/$folder" "/new/$folder"
done
exec $b switch_root /new /run/vm/bin/xtask vm-guest boot
