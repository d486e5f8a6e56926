//! Stands in for handlers that are built elsewhere at the same time, so that the table is whole. Goes away when they meet.

use std::sync::Arc;

use super::super::{
    rpc::{Api, Caller},
    state::State,
};
use crate::protocol::{
    ConfirmationClaim, ConfirmationGet, ConfirmationList, ConfirmationRelease, ConfirmationRespond,
    ErrorKind, Method, RpcError, RunUnpark,
};

pub fn register(api: &mut Api<State>) {
    absent::<ConfirmationList>(api);
    absent::<ConfirmationGet>(api);
    absent::<ConfirmationClaim>(api);
    absent::<ConfirmationRelease>(api);
    absent::<ConfirmationRespond>(api);
    absent::<RunUnpark>(api);
}

fn absent<M: Method>(api: &mut Api<State>) {
    api.method::<M, _, _>(|_: Arc<State>, _: Caller, _| async {
        Err(RpcError::new(ErrorKind::MethodNotFound, format!("{} is not there yet", M::NAME)))
    });
}

/// Until the setting `approval.allowYolo` is there.
pub fn allows_yolo(_: &State) -> bool {
    false
}
