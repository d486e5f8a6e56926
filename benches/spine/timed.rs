//! How long does a built-in tool take, without what is around it: no run, no log, no wire?

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use subagentd::{
    protocol::{CallLocation, ReplaySafety, ResourceAccess, Risk, ToolDeclaration, ToolError, ToolResult},
    tools::{CallContext, Invocation, Permit, PrepareContext, Tool, ToolRegistry},
};

use crate::ground::{now, since};

/// What was measured and not asked for yet.
#[derive(Clone, Default)]
pub struct Times(Arc<Mutex<Duration>>);

impl Times {
    /// Time in the tool, preparing and running, since this was asked last.
    pub fn take(&self) -> Duration {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, took: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += took;
    }
}

/// The built-in tool, timed; said to be safe, since nobody is there to be asked.
pub struct Timed {
    declaration: ToolDeclaration,
    tool: Arc<dyn Tool>,
    times: Times,
    is_right: fn(&ToolResult) -> bool,
}

impl Timed {
    /// A result that is not right ends the bench: it was measured in vain.
    pub fn new(name: &str, is_right: fn(&ToolResult) -> bool) -> anyhow::Result<(Timed, Times)> {
        let registry = ToolRegistry::built_in();
        let tool = Arc::clone(registry.get(&name.into()).context("it is built in")?);
        let declaration = ToolDeclaration { risk: Risk::Safe, ..tool.declaration().clone() };
        let times = Times::default();
        Ok((Timed { declaration, tool, times: times.clone(), is_right }, times))
    }
}

impl Tool for Timed {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplaySafety {
        self.tool.replay()
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let began = now();
            let invocation = self.tool.prepare(arguments, cx).await?;
            self.times.add(since(began));
            let (times, is_right) = (self.times.clone(), self.is_right);
            Ok::<Box<dyn Invocation>, _>(Box::new(TimedCall { invocation, times, is_right }))
        })
    }
}

struct TimedCall {
    invocation: Box<dyn Invocation>,
    times: Times,
    is_right: fn(&ToolResult) -> bool,
}

impl Invocation for TimedCall {
    fn accesses(&self) -> &[ResourceAccess] {
        self.invocation.accesses()
    }

    fn description(&self) -> String {
        self.invocation.description()
    }

    fn locations(&self) -> Vec<CallLocation> {
        self.invocation.locations()
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let TimedCall { invocation, times, is_right } = *self;
        Box::pin(async move {
            let began = now();
            let result = invocation.run(permit, cx).await;
            times.add(since(began));
            assert!(is_right(&result), "{:?}", result.error);
            result
        })
    }
}
