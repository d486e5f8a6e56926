//! Which handler answers which method? One typed handler for each row of the protocol's table.

use std::{
    collections::HashSet,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use jsonrpsee::{Extensions, Methods, RpcModule, core::RegisterMethodError, types::Params};
use serde::Deserialize as _;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use tokio_util::sync::CancellationToken;

use super::{
    caller::{ConnectionLoad, RpcCaller, RpcRequestContext, RunningSubscription},
    docs,
    errors::{error_object, internal_error},
    params::ParamsShape,
    subscription::{NOTIFICATION, PendingSubscription, take},
};
use protocol::{METHODS, RpcDiscover, RpcError, RpcMethod};

/// OpenRPC's own spelling of `rpc/discover` (spec 01).
const DISCOVER_ALIAS: &str = "rpc.discover";
/// jsonrpsee wants a method that unsubscribes, by position; ours is a row of the table. This one is removed as
/// soon as it is registered, so one name serves all subscriptions.
const UNSUBSCRIBE: &str = "$/unsubscribe";

/// A call whose parameters are read: goes on to its answer, as JSON.
type MethodWork<C> = Box<
    dyn FnOnce(Arc<C>, RpcCaller, CancellationToken) -> BoxFuture<'static, Result<Box<RawValue>, RpcError>>
        + Send,
>;

/// Reads parameters of one method. All that depends on a method's types stands behind it: what is generic over them is compiled
/// once for each of more than a hundred.
type MethodBeginning<C> = dyn Fn(&Value) -> Result<MethodWork<C>, serde_json::Error> + Send + Sync;

/// Collects the handlers. `rpc/discover` is answered by the table itself.
pub struct MethodHandlers {
    module: RpcModule<()>,
    cancellable: HashSet<&'static str>,
    rejected: Vec<String>,
}

/// Collects handlers that are given one value, which holds what they use.
pub struct GivenHandlers<'a, C> {
    api: &'a mut MethodHandlers,
    context: Arc<C>,
}

/// What every connection shares: the handlers, ready to be called.
pub struct MethodTable {
    pub(super) methods: Methods,
    pub(super) cancellable: HashSet<&'static str>,
    pub(super) load: Arc<ConnectionLoad>,
}

/// The handlers are not exactly the methods of the protocol.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("methods without a handler: {missing:?}; handlers without a method, or twice: {unexpected:?}")]
pub struct TableMismatch {
    pub missing: Vec<String>,
    pub unexpected: Vec<String>,
}

impl Default for MethodHandlers {
    fn default() -> MethodHandlers {
        MethodHandlers::new()
    }
}

impl MethodHandlers {
    pub fn new() -> MethodHandlers {
        let mut api =
            MethodHandlers { module: RpcModule::new(()), cancellable: HashSet::new(), rejected: Vec::new() };
        // The document is made anew each time: it is asked for rarely, and would cost memory all the time.
        let discover = |_, _, _| async { Ok::<Value, RpcError>(docs::openrpc()) };
        api.given(Arc::new(())).cancellable::<RpcDiscover, _, _>(discover);
        api
    }

    /// Takes handlers that are given this, and nothing else.
    pub fn given<C>(&mut self, context: Arc<C>) -> GivenHandlers<'_, C> {
        GivenHandlers { api: self, context }
    }

    /// Checks that the handlers are exactly the methods of the protocol.
    pub fn build(self, load: Arc<ConnectionLoad>) -> Result<Arc<MethodTable>, TableMismatch> {
        self.build_for(METHODS.iter().map(|method| method.name), load)
    }

    fn build_for(
        mut self,
        methods: impl Iterator<Item = &'static str>,
        load: Arc<ConnectionLoad>,
    ) -> Result<Arc<MethodTable>, TableMismatch> {
        let expected: Vec<_> = methods.collect();
        let handled: HashSet<_> = self.module.method_names().collect();
        let missing: Vec<_> =
            expected.iter().filter(|name| !handled.contains(*name)).map(|name| (*name).to_owned()).collect();
        let strangers = handled.iter().filter(|name| !expected.contains(name)).map(|name| (*name).to_owned());
        let mut unexpected: Vec<_> = self.rejected.drain(..).chain(strangers).collect();
        unexpected.sort();
        if !missing.is_empty() || !unexpected.is_empty() {
            return Err(TableMismatch { missing, unexpected });
        }
        let alias = self.module.register_alias(DISCOVER_ALIAS, RpcDiscover::NAME);
        alias
            .expect("`rpc/discover` is registered by `new`, and no method of the table has the alias's name");
        self.cancellable.insert(DISCOVER_ALIAS);
        Ok(Arc::new(MethodTable { methods: self.module.into(), cancellable: self.cancellable, load }))
    }

    fn note(&mut self, registered: Result<(), RegisterMethodError>) {
        if let Err(error) = registered {
            self.rejected.push(error.to_string());
        }
    }
}

impl<C: Send + Sync + 'static> GivenHandlers<'_, C> {
    /// A method with effects. Once begun it runs to its end: cancelling comes too late, and a client that hangs
    /// up is not waited for, but its call is finished.
    pub fn method<M, H, F>(&mut self, handler: H) -> &mut Self
    where
        M: RpcMethod,
        H: Fn(Arc<C>, RpcCaller, M::Params) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    {
        self.heeding::<M, _, _>(move |context, caller, params, _| handler(context, caller, params))
    }

    /// A method with effects that come late. The handler gets a token that is cancelled by `$/cancelRequest`, by hanging up
    /// and by the daemon's end; it ends then if it had no effect yet, with an error that says so.
    pub fn heeding<M, H, F>(&mut self, handler: H) -> &mut Self
    where
        M: RpcMethod,
        H: Fn(Arc<C>, RpcCaller, M::Params, CancellationToken) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    {
        let begin = move |params: &Value| {
            let (params, handler) = (M::Params::deserialize(params)?, handler.clone());
            let work: MethodWork<C> = Box::new(move |context, caller, given_up| {
                let answer = async move {
                    let answer = handler(context, caller, params, given_up).await?;
                    to_raw_value(&answer).map_err(|error| internal_error(&error))
                };
                answer.boxed()
            });
            Ok(work)
        };
        self.register(M::NAME, ParamsShape::of::<M>(), Arc::new(begin))
    }

    /// The part of it that is the same for every method, so that it is compiled once.
    fn register(
        &mut self,
        name: &'static str,
        shape: ParamsShape,
        begin: Arc<MethodBeginning<C>>,
    ) -> &mut Self {
        let (context, shape) = (Arc::clone(&self.context), Arc::new(shape));
        let registered = self.api.module.register_async_method(name, move |params, _, extensions| {
            let (context, shape, begin) = (Arc::clone(&context), Arc::clone(&shape), Arc::clone(&begin));
            async move {
                let call = call_of(&extensions).map_err(error_object)?;
                let work = read(&shape, &params, call, &*begin).map_err(error_object)?;
                // The handler's own body before its first await can panic too.
                let (caller, given_up) = (call.caller.clone(), call.given_up.clone());
                let answer = AssertUnwindSafe(async { work(context, caller, given_up).await });
                match answer.catch_unwind().await {
                    Ok(answer) => answer.map_err(error_object),
                    Err(panic) => Err(error_object(panicked(name, panic.as_ref()))),
                }
            }
        });
        let registered = registered.map(|_| ());
        self.api.note(registered);
        self
    }

    /// A method that only reads. `$/cancelRequest`, hanging up and the daemon's end drop it where it stands.
    pub fn cancellable<M, H, F>(&mut self, handler: H) -> &mut Self
    where
        M: RpcMethod,
        H: Fn(Arc<C>, RpcCaller, M::Params) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    {
        self.api.cancellable.insert(M::NAME);
        self.method::<M, H, F>(handler)
    }

    /// A subscription. The handler refuses it by an error, or accepts it and feeds it; it is dropped when the
    /// client is gone or detaches, and the subscription ends when it returns.
    pub fn subscription<M, H, F>(&mut self, handler: H) -> &mut Self
    where
        M: RpcMethod,
        H: Fn(Arc<C>, RpcCaller, M::Params, PendingSubscription) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<(), RpcError>> + Send + 'static,
    {
        let context = Arc::clone(&self.context);
        let shape = Arc::new(ParamsShape::of::<M>());
        let register = self.api.module.register_subscription_raw(
            M::NAME,
            NOTIFICATION,
            UNSUBSCRIBE,
            move |params, pending, _, extensions| {
                // Without a call in the extensions the request came by a transport that cannot drive
                // subscriptions; dropping `pending` answers with an internal error.
                let Ok(call) = call_of(extensions) else { return };
                let ended = CancellationToken::new();
                let pending = Arc::new(Mutex::new(Some(pending)));
                let feed = PendingSubscription {
                    pending: Arc::clone(&pending),
                    caller: call.caller.clone(),
                    ended: ended.clone(),
                };
                let params = read(&shape, &params, call, &|params| M::Params::deserialize(params));
                let (context, handler, caller) = (Arc::clone(&context), handler.clone(), call.caller.clone());
                let work = async move {
                    let handled = AssertUnwindSafe(async { handler(context, caller, params?, feed).await });
                    let error = match handled.catch_unwind().await {
                        Ok(Ok(())) => None,
                        Ok(Err(error)) => Some(error),
                        Err(panic) => Some(panicked(M::NAME, panic.as_ref())),
                    };
                    // Still there: the handler neither accepted nor waits.
                    if let Some(pending) = take(&pending) {
                        let unaccepted = || internal_error(&"the handler neither accepted nor refused");
                        pending.reject(error_object(error.unwrap_or_else(unaccepted))).await;
                    }
                };
                call.follow_up(RunningSubscription { work: work.boxed(), ended });
            },
        );
        let registered = register.map(|_| ());
        self.api.module.remove_method(UNSUBSCRIBE);
        self.api.note(registered);
        self
    }
}

fn call_of(extensions: &Extensions) -> Result<&RpcRequestContext, RpcError> {
    extensions.get::<RpcRequestContext>().ok_or_else(|| internal_error(&"a transport without a caller"))
}

/// Reads the parameters and has unknown fields reported that were not reported before.
fn read<T>(
    shape: &ParamsShape,
    params: &Params<'_>,
    call: &RpcRequestContext,
    parse: &dyn Fn(&Value) -> Result<T, serde_json::Error>,
) -> Result<T, RpcError> {
    let (read, mut unknown) = shape.read(params.as_str(), call.caller.is_strict(), parse)?;
    unknown.retain(|field| call.caller.is_news(field));
    call.report(unknown);
    Ok(read)
}

fn panicked(method: &str, panic: &(dyn std::any::Any + Send)) -> RpcError {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words");
    internal_error(&format_args!("the handler of {method} panicked: {words}"))
}
