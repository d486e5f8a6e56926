//! Which options have the commands that run what stands behind them?

use crate::options::OptionSpec;

/// A command that runs what stands behind its options and so many operands.
pub(super) struct CommandRunner {
    pub names: &'static [&'static str],
    pub spec: OptionSpec,
    pub operands: usize,
    /// `NAME=value` may stand before the command.
    pub assigns: bool,
}

const NO_OPTIONS: OptionSpec =
    OptionSpec { flags: "", valued: "", attached: "", long_flags: &[], long_valued: &[] };

pub(crate) const TIME: OptionSpec = OptionSpec {
    flags: "apqvV",
    valued: "fo",
    long_flags: &["append", "portability", "quiet", "verbose"],
    long_valued: &["format", "output"],
    ..NO_OPTIONS
};

pub(super) const RUNNERS: &[CommandRunner] = &[
    CommandRunner {
        names: &["sudo"],
        spec: OptionSpec {
            flags: "ABbEeHiKklnNPSsVv",
            valued: "CDghprRtTuU",
            attached: "",
            long_flags: &[
                "askpass",
                "background",
                "bell",
                "edit",
                "help",
                "login",
                "remove-timestamp",
                "reset-timestamp",
                "list",
                "non-interactive",
                "preserve-groups",
                "stdin",
                "shell",
                "version",
                "validate",
                "set-home",
                "preserve-env",
            ],
            long_valued: &[
                "chdir",
                "close-from",
                "group",
                "host",
                "prompt",
                "role",
                "chroot",
                "type",
                "command-timeout",
                "user",
                "other-user",
            ],
        },
        operands: 0,
        assigns: true,
    },
    CommandRunner {
        names: &["doas"],
        spec: OptionSpec { flags: "Lns", valued: "uCa", ..NO_OPTIONS },
        operands: 0,
        assigns: true,
    },
    CommandRunner {
        names: &["env"],
        spec: OptionSpec {
            flags: "i0v",
            valued: "uC",
            attached: "",
            long_flags: &["ignore-environment", "null", "debug", "help", "version"],
            long_valued: &["unset", "chdir"],
        },
        operands: 0,
        assigns: true,
    },
    CommandRunner {
        names: &["nice"],
        spec: OptionSpec { flags: "0123456789", valued: "n", long_valued: &["adjustment"], ..NO_OPTIONS },
        operands: 0,
        assigns: false,
    },
    CommandRunner {
        names: &["ionice"],
        spec: OptionSpec {
            flags: "t",
            valued: "cnpPu",
            long_flags: &["ignore"],
            long_valued: &["class", "classdata", "pid", "pgid", "uid"],
            ..NO_OPTIONS
        },
        operands: 0,
        assigns: false,
    },
    CommandRunner { names: &["nohup"], spec: NO_OPTIONS, operands: 0, assigns: false },
    CommandRunner {
        names: &["setsid"],
        spec: OptionSpec { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..NO_OPTIONS },
        operands: 0,
        assigns: false,
    },
    CommandRunner {
        names: &["stdbuf"],
        spec: OptionSpec { valued: "ioe", long_valued: &["input", "output", "error"], ..NO_OPTIONS },
        operands: 0,
        assigns: false,
    },
    CommandRunner { names: &["time"], spec: TIME, operands: 0, assigns: false },
    CommandRunner {
        names: &["timeout"],
        spec: OptionSpec {
            flags: "vfp",
            valued: "ks",
            long_flags: &["preserve-status", "foreground", "verbose"],
            long_valued: &["kill-after", "signal"],
            ..NO_OPTIONS
        },
        operands: 1,
        assigns: false,
    },
    CommandRunner {
        names: &["exec"],
        spec: OptionSpec { flags: "cl", valued: "a", ..NO_OPTIONS },
        operands: 0,
        assigns: false,
    },
    CommandRunner {
        names: &["command"],
        spec: OptionSpec { flags: "pvV", ..NO_OPTIONS },
        operands: 0,
        assigns: false,
    },
    CommandRunner { names: &["builtin", "busybox", "toybox"], spec: NO_OPTIONS, operands: 0, assigns: false },
    CommandRunner {
        names: &["systemd-run"],
        spec: OptionSpec {
            flags: "drPqtSG",
            valued: "pEHMu",
            long_flags: &[
                "user",
                "system",
                "scope",
                "remain-after-exit",
                "send-sighup",
                "no-block",
                "wait",
                "pty",
                "pipe",
                "quiet",
                "collect",
                "same-dir",
                "shell",
                "no-ask-password",
                "service",
            ],
            long_valued: &[
                "unit",
                "property",
                "description",
                "slice",
                "uid",
                "gid",
                "nice",
                "working-directory",
                "setenv",
                "on-active",
                "on-boot",
                "on-startup",
                "on-calendar",
                "timer-property",
                "host",
                "machine",
            ],
            ..NO_OPTIONS
        },
        operands: 0,
        assigns: false,
    },
    CommandRunner {
        names: &["taskset"],
        spec: OptionSpec { flags: "ac", long_flags: &["cpu-list", "all-tasks"], ..NO_OPTIONS },
        operands: 1,
        assigns: false,
    },
    CommandRunner {
        names: &["chrt"],
        spec: OptionSpec { flags: "bfiroR", ..NO_OPTIONS },
        operands: 1,
        assigns: false,
    },
    CommandRunner {
        names: &["catchsegv", "dbus-run-session", "unbuffer", "fakeroot"],
        spec: NO_OPTIONS,
        operands: 0,
        assigns: false,
    },
];

/// A command with sub-commands that run what stands behind them and so many operands.
pub(super) struct SubRunner {
    pub names: &'static [&'static str],
    pub sub_commands: &'static [&'static str],
    pub operands: usize,
    /// Not on this system, as far as the daemon could see to it.
    pub is_elsewhere: bool,
}

pub(super) const SUB_RUNNERS: &[SubRunner] = &[
    SubRunner {
        names: &["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba"],
        sub_commands: &["run"],
        operands: 0,
        is_elsewhere: false,
    },
    SubRunner {
        names: &["bundle", "pyenv", "rbenv", "asdf", "mise", "opam", "volta"],
        sub_commands: &["exec", "x", "run"],
        operands: 0,
        is_elsewhere: false,
    },
    SubRunner { names: &["rustup"], sub_commands: &["run"], operands: 1, is_elsewhere: false },
    SubRunner {
        names: &["docker", "podman", "nerdctl", "kubectl", "lxc", "distrobox", "toolbox"],
        sub_commands: &["run", "exec", "compose", "enter"],
        operands: 1,
        is_elsewhere: true,
    },
];
