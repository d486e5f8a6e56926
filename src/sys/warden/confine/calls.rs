//! The system calls that a command is kept from, by why.

/// What no command of an agent has any business with: the kernel itself, mounts, namespaces, other processes' memory, keys.
/// Much of it needs rights that a command does not have; the filter holds where one was forgotten.
pub const FORBIDDEN: &[i64] = &[
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_writev,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Calls that programs know how to do without.
pub const MISSING: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Memory that stands in no process's account.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
];

/// Memory, queues and semaphores that have a number or a name, and no file.
pub const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// What can be done to any process of the same user; the process is the first argument, 0 is the caller.
pub const OF_PROCESS: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_process_madvise,
];

/// Requests that change a file that was opened for reading (linux/fs.h, linux/fsverity.h): SETFLAGS in two sizes, SETVERSION in
/// two sizes, FSSETXATTR, ENABLE_VERITY.
pub const FILE_REQUESTS: &[u64] =
    &[0x4008_6602, 0x4004_6602, 0x4008_7602, 0x4004_7602, 0x401c_5820, 0x4080_6685];

/// What gives a file attributes of its own. Programs know file systems that have none.
pub const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];

/// What [`FILE_REQUESTS`] do, by another call.
pub const FILE_SETTINGS: &[i64] = &[FILE_SETATTR];

/// Calls of newer kernels, numbered alike on all machines: Linux 6.13, and 6.17.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// The part of the second argument of `socket` and `socketpair` that is no flag.
pub const SOCKET_KINDS: u64 = 0xf;
