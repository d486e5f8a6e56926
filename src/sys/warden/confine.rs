//! What a command may not do: limits, Landlock, seccomp. Prepared by the warden, entered by the command before it begins.

use std::{
    collections::BTreeMap,
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, fstat, openat},
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
        set_capabilities,
    },
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use super::{
    super::guarded::open_without_links,
    CommandLimits, FileAccess, OWN_PROGRAM, SocketAccess, WardenOrder, fixed,
    on_behalf::{self, BrokerClient, BrokerGrants, BrokerServer, SECOND_NUMBERS},
};

mod calls;

use calls::{ATTRIBUTES, FILE_REQUESTS, FILE_SETTINGS, FORBIDDEN, MISSING, OF_PROCESS, SHARED, SOCKET_KINDS};

/// The restrictions this is written for; older kernels have fewer, which the filters make up for where they can.
const NEWEST: ABI = ABI::V6;

/// Threads count as processes for the system's own limit, and programs have many.
const THREADS_PER_PROCESS: u64 = 16;

/// What a single process may use beyond the limit before the kernel ends it.
const SPARE_SECONDS: u64 = 5;

/// What a command enters before it begins.
pub struct PreparedConfinement {
    limits: CommandLimits,
    rules: Option<RulesetCreated>,
    /// Root's rights are taken from it.
    is_without_rights: bool,
    filters: Vec<BpfProgram>,
    on_behalf: Option<BrokerClient>,
}

impl PreparedConfinement {
    /// Everything that can fail, and everything that takes time. Whoever is asked what the command may not do by itself comes
    /// with it.
    pub fn prepare(order: &WardenOrder) -> Result<(PreparedConfinement, Option<BrokerServer>), String> {
        let refused = |error: RulesetError| format!("Landlock refuses the sandbox: {error}");
        let rules = match &order.files {
            Some(files) => Some(rules(files, order)?),
            None => match order.seen.as_deref().filter(|_| ABI::V2 as u32 <= landlock_version()) {
                Some(seen) => Some(rules_of_reading(seen, order.sockets).map_err(refused)?),
                None => scope(order.sockets).map_err(refused)?,
            },
        };
        let filters = filters(order).map_err(|error| format!("seccomp refuses the sandbox: {error}"))?;
        let (on_behalf, waiting) = match on_behalf(order) {
            Some((may, without)) => {
                let (asking, waiting) = on_behalf::pair(may, without)
                    .map_err(|error| format!("nobody can be asked for the command: {error}"))?;
                (Some(asking), Some(waiting))
            }
            None => (None, None),
        };
        let is_without_rights = order.files.is_some();
        Ok((
            PreparedConfinement { limits: order.limits, rules, is_without_rights, filters, on_behalf },
            waiting,
        ))
    }

    /// Confines this process and all that it starts. Limits come first: the filters may forbid to set them.
    pub fn enter(self) -> io::Result<()> {
        let CommandLimits { cpu_seconds, processes, open_files, .. } = self.limits;
        lower(Resource::Core, Some(0))?;
        // The warden sees it first, and says so; this is for one that outruns it.
        lower(Resource::Cpu, cpu_seconds.map(|most| most + SPARE_SECONDS))?;
        lower(Resource::Nofile, open_files)?;
        // Beside those that the user has already. Where it does not count, the warden does.
        let threads = processes.map(|most| (most + running()).saturating_mul(THREADS_PER_PROCESS));
        lower(Resource::Nproc, threads)?;
        if let Some(rules) = self.rules {
            if self.is_without_rights {
                drop_rights()?;
            }
            let status = rules.restrict_self().map_err(io::Error::other)?;
            if status.ruleset == RulesetStatus::NotEnforced {
                return Err(io::Error::other("the kernel has no Landlock"));
            }
        }
        self.filters
            .iter()
            .try_for_each(|filter| seccompiler::apply_filter(filter).map_err(io::Error::other))?;
        match self.on_behalf {
            Some(asking) => asking.begin(),
            None => Ok(()),
        }
    }
}

/// Restrictions beside those of files, where somebody else keeps files closed, or nobody does.
fn scope(sockets: SocketAccess) -> Result<Option<RulesetCreated>, RulesetError> {
    if landlock_version() < ABI::V6 as u32 {
        return Ok(None);
    }
    Ruleset::default().scope(scope_of(sockets)).and_then(Ruleset::create).map(Some)
}

fn scope_of(sockets: SocketAccess) -> Scope {
    match sockets {
        // Nothing is confined, but who can end the daemon or look into it can answer for a person.
        SocketAccess::All => Scope::Signal,
        // The network may be everybody's, and with it sockets that have a name and no file.
        SocketAccess::Internet | SocketAccess::None => Scope::AbstractUnixSocket,
    }
}

/// Reads nothing but what is `seen`, beside what else keeps files closed. A mount falls off when somebody who does not see it
/// renames another file over the one below it, or removes that: these rules stay. They are of reading alone, for Landlock takes
/// nothing back; moving files has to be allowed, or Landlock refuses it from folder to folder.
fn rules_of_reading(seen: &[PathBuf], sockets: SocketAccess) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::ReadFile | AccessFs::Refer)?
        .scope(scope_of(sockets))?;
    let mut rules = rules.create()?;
    if let Ok(root) = open_without_links(Path::new("/")) {
        rules = rules.add_rule(PathBeneath::new(root, AccessFs::Refer))?;
    }
    // A trial of the sandbox is this program once more, which may lie where the view shows something else.
    if let Ok(own) = openat(CWD, OWN_PROGRAM, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        rules = rules.add_rule(PathBeneath::new(own, AccessFs::ReadFile))?;
    }
    for path in seen {
        // What is not there needs no rule.
        if let Ok(file) = open_without_links(path) {
            rules = rules.add_rule(PathBeneath::new(file, AccessFs::ReadFile))?;
        }
    }
    Ok(rules)
}

/// Root's rights go past many a check of Landlock's, so the command has none of them, nor has anything that it executes.
fn drop_rights() -> io::Result<()> {
    for number in 0..u64::from(u64::BITS) {
        let right = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(right) {
            Ok(()) => {}
            // The last one of this kernel is behind us.
            Err(Errno::INVAL) => break,
            // Who has no rights gets none by executing anything either: Landlock wants `no_new_privs`.
            Err(Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// The oldest Landlock that keeps files closed.
pub const LEAST_LANDLOCK: u32 = 1;

/// The newest restrictions of Landlock that this kernel knows, of those that matter here; 0 = it has none.
pub fn landlock_version() -> u32 {
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let has_files =
        |version: ABI| strict().handle_access(AccessFs::from_all(version)).and_then(Ruleset::create).is_ok();
    let keeps_signals = || strict().scope(Scope::from_all(ABI::V6)).and_then(Ruleset::create).is_ok();
    if !has_files(ABI::V1) {
        0
    } else if keeps_signals() {
        ABI::V6 as u32
    } else {
        let newest = [ABI::V5, ABI::V3, ABI::V2].into_iter().find(|version| has_files(*version));
        newest.unwrap_or(ABI::V1) as u32
    }
}

fn rules(files: &FileAccess, order: &WardenOrder) -> Result<RulesetCreated, String> {
    let refused = |error: RulesetError| format!("Landlock refuses the sandbox: {error}");
    let mut rules = ruleset(order.sockets).map_err(refused)?;
    let all = AccessFs::from_all(NEWEST);
    for (paths, access) in [(&files.readable, AccessFs::from_read(NEWEST)), (&files.writable, all)] {
        for path in paths {
            // What is not there needs no rule: it is as closed as everything else. So is what became a link meanwhile.
            let Ok(file) = open_without_links(path) else { continue };
            fixed::check_opened(&order.fixed, path, &file)?;
            rules = allow(rules, &file, access).map_err(refused)?;
        }
    }
    Ok(rules)
}

fn ruleset(sockets: SocketAccess) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    match sockets {
        SocketAccess::None => rules.handle_access(AccessNet::from_all(NEWEST))?.create(),
        SocketAccess::All | SocketAccess::Internet => rules.create(),
    }
}

fn allow(
    rules: RulesetCreated,
    file: &OwnedFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    // What means folders alone is nothing that a file could be given.
    let is_folder = fstat(file).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory);
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(file, access))
}

fn lower(resource: Resource, to: Option<u64>) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let Rlimit { current, maximum } = getrlimit(resource);
    let least = |old: Option<u64>| Some(old.map_or(to, |old| old.min(to)));
    Ok(setrlimit(resource, Rlimit { current: least(current), maximum: least(maximum) })?)
}

/// Processes there are.
fn running() -> u64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())).count()
        as u64
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

/// One filter for each answer that is given to what is forbidden.
fn filters(order: &WardenOrder) -> Result<Vec<BpfProgram>, Box<dyn std::error::Error>> {
    let version = landlock_version();
    if order.sockets == SocketAccess::All {
        return of_unconfined(order, version);
    }
    let always = |calls: &[i64]| -> SeccompRules { calls.iter().map(|call| (*call, Vec::new())).collect() };
    let mut refused = always(FORBIDDEN);
    refused.insert(libc::SYS_clone, vec![SeccompRule::new(vec![has_flags(0, libc::CLONE_NEWUSER as u64)?])?]);
    // Typing for whoever sits at a terminal.
    let mut requests = vec![libc::TIOCSTI, libc::TIOCLINUX];
    if order.files.is_some() {
        // Landlock does not look at who changes the attributes of a file.
        refused.extend(always(FILE_SETTINGS));
        requests.extend(FILE_REQUESTS);
        // Nor at who lowers the limits of others, which ends them.
        for call in OF_PROCESS {
            refused.insert(*call, vec![of_others(0)?]);
        }
        for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
            refused.insert(call, vec![of_others(1)?]);
        }
    }
    let rule = |request: &u64| Ok(SeccompRule::new(vec![is(1, *request)?])?);
    refused.insert(
        libc::SYS_ioctl,
        requests.iter().map(rule).collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?,
    );
    if order.files.is_some() && version < ABI::V3 as u32 {
        // Older kernels let a file be cut by its name that may not be written.
        refused.insert(libc::SYS_truncate, Vec::new());
    }
    if order.files.is_some() && version < ABI::V6 as u32 {
        refused.extend(signals(order)?);
    }
    let mut filters = vec![program(refused, libc::EPERM)?];
    // Else the filter has it that asks, see `without`.
    if order.files.is_none() {
        filters.push(program(always(MISSING), libc::ENOSYS)?);
        #[cfg(target_arch = "x86_64")]
        filters.push(no_second_numbers());
    }
    let of_sockets =
        SeccompRules::from([(libc::SYS_socket, sockets(order)?), (libc::SYS_socketpair, pairs()?)]);
    filters.push(program(of_sockets, libc::EACCES)?);
    Ok(filters)
}

/// Which sockets are refused.
fn sockets(order: &WardenOrder) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut families = match order.sockets {
        SocketAccess::All | SocketAccess::Internet => vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        SocketAccess::None => Vec::new(),
    };
    if order.sockets_at.is_empty() {
        return refuse_but(&families);
    }
    families.push(libc::AF_UNIX);
    let mut refused = refuse_but(&families)?;
    refused.extend(kinds_without_connection()?);
    Ok(refused)
}

/// Pairs of sockets that are refused. Those of one connection stay with each other.
fn pairs() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut refused = refuse_but(&[libc::AF_UNIX])?;
    refused.extend(kinds_without_connection()?);
    Ok(refused)
}

/// Every kind of socket with a file that names whom it reaches with each message: it is not enough to be asked for connections,
/// and one of a pair reaches others than its other.
fn kinds_without_connection() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| kind as u64);
    let kinds = (0..=SOCKET_KINDS).filter(|kind| !connected.contains(kind));
    let refused = kinds.map(|kind| {
        let is_kind = SeccompCmpOp::MaskedEq(SOCKET_KINDS);
        let is_kind = SeccompCondition::new(1, SeccompCmpArgLen::Dword, is_kind, kind)?;
        SeccompRule::new(vec![is(0, libc::AF_UNIX as u64)?, is_kind])
    });
    refused.collect()
}

fn refuse_but(families: &[i32]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let others = families.iter().map(|family| is_not(0, *family as u64)).collect::<Result<Vec<_>, _>>()?;
    if others.is_empty() { Ok(Vec::new()) } else { Ok(vec![SeccompRule::new(others)?]) }
}

/// What is done for the command by its warden, and what the same filter answers; `None` = nothing is.
fn on_behalf(order: &WardenOrder) -> Option<(BrokerGrants, Vec<(i64, Errno)>)> {
    // Landlock is younger than what lets a call through that was seen.
    let groups_are_seen = !order.is_first && LEAST_LANDLOCK <= landlock_version();
    if order.sockets == SocketAccess::All {
        let may = BrokerGrants { groups_are_seen, ..BrokerGrants::default() };
        return groups_are_seen.then_some((may, Vec::new()));
    }
    let connect = order.sockets_at.clone();
    let without = if order.files.is_some() { without() } else { Vec::new() };
    let write = order.files.as_ref().map(|files| files.writable.clone());
    let is_any = groups_are_seen || write.is_some() || !connect.is_empty();
    is_any.then_some((BrokerGrants { write, connect, groups_are_seen }, without))
}

/// What a kernel that keeps files closed does not have, for a command. Without a namespace what is shared by numbers and names
/// is everybody's, and stays when the command has ended.
fn without() -> Vec<(i64, Errno)> {
    let missing = MISSING.iter().chain(SHARED).map(|call| (*call, Errno::NOSYS));
    missing.chain(ATTRIBUTES.iter().map(|call| (*call, Errno::OPNOTSUPP))).collect()
}

/// What a command may not do that nobody confines: end the daemon, whose questions it would answer then.
fn of_unconfined(order: &WardenOrder, version: u32) -> Result<Vec<BpfProgram>, Box<dyn std::error::Error>> {
    // Too little of the processor's time ends whoever has it.
    let mut refused = SeccompRules::from([(libc::SYS_prlimit64, vec![of_others(0)?])]);
    if version < ABI::V6 as u32 {
        refused.extend(signals(order)?);
    }
    if version == 0 {
        // Landlock keeps whoever is in it from looking into others.
        for (call, argument) in
            [(libc::SYS_ptrace, 1), (libc::SYS_process_vm_writev, 0), (libc::SYS_process_vm_readv, 0)]
        {
            let of = |pid: u32| Ok(SeccompRule::new(vec![is(argument, u64::from(pid))?])?);
            let own = [order.daemon, std::process::id()].map(of);
            refused.insert(call, own.into_iter().collect::<Result<_, Box<dyn std::error::Error>>>()?);
        }
    }
    let filters = vec![program(refused, libc::EPERM)?];
    #[cfg(target_arch = "x86_64")]
    let filters = [filters, vec![no_second_numbers()]].concat();
    Ok(filters)
}

/// Whoever is named by this argument; 0 is the caller.
fn of_others(argument: u8) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![is_not(argument, 0)?])
}

#[cfg(target_arch = "x86_64")]
fn no_second_numbers() -> BpfProgram {
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    vec![
        // The call's number is the first of what a filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, SECOND_NUMBERS),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Signals to the daemon, to its warden, and to everybody, where Landlock does not keep signals inside.
fn signals(order: &WardenOrder) -> Result<SeccompRules, Box<dyn std::error::Error>> {
    // Which process the last one means, a filter cannot see.
    let mut rules =
        SeccompRules::from([(libc::SYS_tkill, Vec::new()), (libc::SYS_pidfd_send_signal, Vec::new())]);
    let mut forbidden = vec![-1_i32];
    for pid in [order.daemon, std::process::id()] {
        let pid = i32::try_from(pid)?;
        forbidden.extend([pid, -pid]);
    }
    let calls = [
        libc::SYS_kill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
    ];
    for call in calls {
        let of = |pid: &i32| Ok(SeccompRule::new(vec![is(0, u64::from(pid.cast_unsigned()))?])?);
        rules.insert(call, forbidden.iter().map(of).collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?);
    }
    Ok(rules)
}

fn program(rules: SeccompRules, errno: i32) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let answer = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn has_flags(argument: u8, flags: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flags), flags)
}
