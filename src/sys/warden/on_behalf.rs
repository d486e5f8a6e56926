//! What a command may not do by itself, because the kernel cannot tell for which files it may: its warden does it.
//!
//! Landlock does not look at who changes the mode, the owner or the times of a file, and a filter for system calls does not
//! see which file is meant. So the filter hands these calls to the warden (seccomp_unotify(2)), which opens the file, looks
//! where it lies, and changes just what it opened. It connects to the sockets that the settings name in the same way. What it is told it reads once, so that nobody changes the question while
//! it is answered. Whatever cannot be told is refused.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use rustix::{
    cmsg_space,
    io::Errno,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, recvmsg, sendmsg,
    },
};

mod call;
mod connect;
mod task;

use call::BrokeredCall;
use connect::BrokeredConnection;
use task::CallingTask;

/// On x86-64 some kernels know every call by a second number (x32), which no rule of a filter names.
pub const SECOND_NUMBERS: u32 = 0x4000_0000;

/// Connections that are being made at a time, each by a thread: one may wait as long as the other side wants.
const MOST_CONNECTIONS: usize = 64;

/// How a process leaves its group. Each is let through, until the command is to end: then nobody answers any more, so whoever
/// would leave waits where it is, and a group is killed at once, with whatever it is just starting.
const LEAVING_A_GROUP: &[i64] = &[libc::SYS_setsid, libc::SYS_setpgid];

/// Answers at a stretch, after which there may be something else to see to.
const MOST_ANSWERS: usize = 100;

/// The command's side, until it begins.
pub struct BrokerClient {
    socket: UnixStream,
    /// Calls for which somebody is asked.
    asked: Vec<i64>,
    /// Calls of which somebody is told, and that are let through where nobody is.
    told: &'static [i64],
    /// Calls that are answered with an error, and nobody is asked.
    without: Vec<(i64, Errno)>,
}

/// The warden's side, until the command has begun.
pub struct BrokerServer {
    socket: UnixStream,
    may: BrokerGrants,
}

/// What may be done for a command.
#[derive(Debug, Clone, Default)]
pub struct BrokerGrants {
    /// Files and folders in which it may write; `None` = somebody else keeps files closed.
    pub write: Option<Vec<PathBuf>>,
    /// Sockets, and folders with sockets in them, that it may connect to. If there are none, it can make none that have a
    /// file.
    pub connect: Vec<PathBuf>,
    /// True if it may not leave its process groups unseen: its processes are ended by them.
    pub groups_are_seen: bool,
}

/// The two sides. `without`: calls that the same filter answers with an error: the kernel compiles each filter anew for each
/// command.
pub fn pair(may: BrokerGrants, without: Vec<(i64, Errno)>) -> io::Result<(BrokerClient, BrokerServer)> {
    let (theirs, socket) = UnixStream::pair()?;
    let changes = may.write.iter().flat_map(|_| call::NUMBERS);
    let asked = changes.copied().chain((!may.connect.is_empty()).then_some(connect::NUMBER)).collect();
    let told = if may.groups_are_seen { LEAVING_A_GROUP } else { &[] };
    Ok((BrokerClient { socket: theirs, asked, told, without }, BrokerServer { socket, may }))
}

impl BrokerClient {
    /// From now on this process, and whatever it starts, asks. Where somebody else is asked already, as in some containers,
    /// the calls are refused.
    pub fn begin(self) -> io::Result<()> {
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let questions = match listen(libc::SECCOMP_RET_USER_NOTIF, &self, flags) {
            Ok(Some(questions)) => questions,
            Ok(None) => return Err(io::Error::other("the kernel answers no listener")),
            Err(_) => {
                listen(answer(Errno::PERM), &self, 0)?;
                return Ok(());
            }
        };
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [questions.as_fd()];
        if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(io::Error::other("the listener cannot be handed over"));
        }
        sendmsg(&self.socket, &[IoSlice::new(b"q")], &mut control, SendFlags::empty())?;
        Ok(())
    }
}

fn answer(errno: Errno) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.raw_os_error().cast_unsigned()
}

/// Adds a filter with this action for the calls that are answered here, and errors for others. Answers the listener, if one was
/// asked for.
fn listen(action: u32, asking: &BrokerClient, flags: libc::c_ulong) -> io::Result<Option<OwnedFd>> {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    // The call's number is the first of what a filter is given. Calls of other machines never come here: the other filters
    // end whoever makes them.
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    let is_heard = flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0;
    let told = asking.told.iter().filter(|_| is_heard);
    let asked = asking.asked.iter().chain(told).map(|call| (*call, action));
    let answered = asking.without.iter().map(|(call, errno)| (*call, answer(*errno)));
    for (call, action) in asked.chain(answered) {
        let number = u32::try_from(call).map_err(io::Error::other)?;
        steps.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number));
        steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, action));
    }
    if cfg!(target_arch = "x86_64") {
        steps.push(step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, SECOND_NUMBERS));
        steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, answer(Errno::NOSYS)));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    let length = u16::try_from(steps.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: steps.as_mut_ptr() };
    // Safety: the program and its steps live until the call returns, which copies them.
    #[allow(unsafe_code, reason = "no library adds a filter that asks")]
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(&program))
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    if flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER == 0 {
        return Ok(None);
    }
    let fd = i32::try_from(answer).map_err(io::Error::other)?;
    // Safety: the kernel has just made it for this process.
    #[allow(unsafe_code, reason = "there is no other way to own what a system call made")]
    Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) }))
}

impl BrokerServer {
    /// When the command has been executed: who it asks, if it asks anybody.
    pub fn attend(self) -> Option<SyscallBroker> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        recvmsg(&self.socket, &mut [IoSliceMut::new(&mut [0])], &mut control, flags).ok()?;
        let questions = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        })?;
        Some(SyscallBroker { questions: Arc::new(questions), may: self.may, connections: Arc::default() })
    }
}

/// Does for a command what it may not do by itself.
pub struct SyscallBroker {
    questions: Arc<OwnedFd>,
    may: BrokerGrants,
    /// How many are being made.
    connections: Arc<AtomicUsize>,
}

impl SyscallBroker {
    /// Readable when something is asked.
    pub fn questions(&self) -> &OwnedFd {
        &self.questions
    }

    /// Answers what is asked by now.
    pub fn answer(&self) {
        for _ in 0..MOST_ANSWERS {
            let Ok(Some(question)) = self.next() else { return };
            let number = i64::from(question.data.nr);
            if number == connect::NUMBER {
                self.connect(&question);
            } else if LEAVING_A_GROUP.contains(&number) {
                let_through(&self.questions, question.id);
            } else {
                respond(&self.questions, question.id, self.change(&question));
            }
        }
    }

    fn change(&self, question: &libc::seccomp_notif) -> Result<(), Errno> {
        let writable = self.may.write.as_deref().ok_or(Errno::PERM)?;
        let call =
            BrokeredCall::read(question.data.nr, &question.data.args, &CallingTask::new(question.pid))?;
        self.check(question)?;
        call.make(writable)
    }

    /// Answers when the connection is made, or cannot be.
    fn connect(&self, question: &libc::seccomp_notif) {
        let id = question.id;
        let task = CallingTask::new(question.pid);
        let connection = BrokeredConnection::read(&question.data.args, &task, &self.may.connect)
            .and_then(|connection| self.check(question).map(|()| connection));
        let connection = match connection {
            Ok(connection) if self.connections.load(Ordering::Relaxed) < MOST_CONNECTIONS => connection,
            Ok(_) => return respond(&self.questions, id, Err(Errno::AGAIN)),
            Err(error) => return respond(&self.questions, id, Err(error)),
        };
        let (questions, connections) = (Arc::clone(&self.questions), Arc::clone(&self.connections));
        connections.fetch_add(1, Ordering::Relaxed);
        // It ends with the warden, at the latest.
        let _goes_on = thread::spawn(move || {
            respond(&questions, id, connection.make());
            connections.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// What was read is of the process that asked, and not of one that has its number by now.
    fn check(&self, question: &libc::seccomp_notif) -> Result<(), Errno> {
        let mut id = question.id;
        ioctl(&self.questions, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut id).map_err(|_| Errno::SRCH)
    }

    fn next(&self) -> io::Result<Option<libc::seccomp_notif>> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(&self.questions, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        if !fds[0].revents().contains(PollFlags::IN) {
            return Ok(None);
        }
        // Safety: a structure of numbers, for which zero is what the kernel wants to find.
        #[allow(unsafe_code, reason = "the kernel's own structure has no other beginning")]
        let mut question: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        ioctl(&self.questions, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut question)?;
        Ok(Some(question))
    }
}

/// Lets the kernel do what was asked for.
fn let_through(questions: &OwnedFd, id: u64) {
    // The kernel's own type has no sign; there is but one such flag.
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    let mut response = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
    // Whoever asked may have ended meanwhile.
    let _ended = ioctl(questions, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response);
}

fn respond(questions: &OwnedFd, id: u64, done: Result<(), Errno>) {
    let error = done.err().map_or(0, |error| -error.raw_os_error());
    let mut response = libc::seccomp_notif_resp { id, val: 0, error, flags: 0 };
    // Whoever asked may have ended meanwhile.
    let _ended = ioctl(questions, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response);
}

fn ioctl<T>(fd: &OwnedFd, request: libc::Ioctl, argument: &mut T) -> io::Result<()> {
    // Safety: each request of this file is called with the structure that it is made for, and only while that lives.
    #[allow(unsafe_code, reason = "no library has these requests")]
    let answer = unsafe { libc::ioctl(fd.as_raw_fd(), request, std::ptr::from_mut(argument)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
