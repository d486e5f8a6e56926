//! `prompt/render`: what would the next run of an agent be told?

use std::{path::PathBuf, sync::Arc};

use super::{
    super::{
        discovery::{self, foreign},
        rpc::{MethodHandlers, RpcCaller},
        state::DaemonContext,
    },
    known_roots,
    lookup::{definition, session},
    roots,
    runs::start_refused,
    violation,
};
use protocol::{PromptRender, PromptRenderParams, PromptRenderResult, RenderedPart, RpcError};
use run::{PromptQuery, RenderedPrompt};

pub fn register(api: &mut MethodHandlers<DaemonContext>) {
    api.cancellable::<PromptRender, _, _>(render);
}

async fn render(
    state: Arc<DaemonContext>,
    _: RpcCaller,
    params: PromptRenderParams,
) -> Result<PromptRenderResult, RpcError> {
    let PromptRenderParams { agent, session_id, workspace, model, headless, with_system_file } = params;
    let given = match &workspace {
        Some(workspace) => Some(known_roots(roots(workspace)?).await?),
        None => None,
    };
    let (roots, append): (Vec<PathBuf>, _) = match &session_id {
        None => (given.unwrap_or_default(), None),
        Some(id) => {
            let own: Vec<PathBuf> = session(&state, id).await?.roots.iter().map(PathBuf::from).collect();
            if given.is_some_and(|given| given != own) {
                return Err(violation("/workspace", "is not that of the session"));
            }
            (own, state.store.system_append(id).await?)
        }
    };
    let project = discovery::project(&state, roots.clone()).await?;
    let (definition, _) = definition(&project.catalog, &agent)?;
    let foreign = foreign(&state, &project, session_id.as_ref(), Some(&definition)).await;
    let name = definition.name.clone();
    let query = PromptQuery { definition, project, roots, foreign, model, is_headless: headless, append };
    let told = state.executor.render(query).await.map_err(|error| start_refused(&state, error))?;
    let RenderedPrompt { system, context, parts, tokens, warnings, exported } = told;
    let redactor = state.redactor.get();
    let parts = parts.into_iter().map(|weighed| RenderedPart {
        name: weighed.part.name,
        source: redactor.owned(weighed.part.source),
        tokens: weighed.tokens,
        off: weighed.part.off,
    });
    Ok(PromptRenderResult {
        agent: name,
        text: system,
        context_message: context,
        parts: parts.collect(),
        tokens,
        warnings,
        system_file: exported.filter(|_| with_system_file).map(|text| redactor.owned(text)),
    })
}
