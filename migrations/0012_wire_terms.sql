-- Fields and events get the terms that a reader of the protocol would look up. Nothing but names changes: what a client saw under the old
-- name of an event is what it sees now under the new one.
update events set type = case type
    when 'model.consulting' then 'sideCall.started'
    when 'model.consulted' then 'sideCall.completed'
    else 'ide.contextShared'
end
where type in ('model.consulting', 'model.consulted', 'ide.contextTold');

-- `->` gives a value as JSON, so that `true` stays `true`; a value that is not there is not looked at.
update events set body = json_set(json_remove(body, '$.care'), '$.safeguards', json(body -> '$.care'))
where type = 'run.started' and json_type(body, '$.care') is not null;

update events set body = json_set(json_remove(body, '$.told'), '$.promptSources', json(body -> '$.told'))
where type = 'run.started' and json_type(body, '$.told') is not null;

update events set body = json_set(json_remove(body, '$.limits.lent'), '$.limits.inherited', json(body -> '$.limits.lent'))
where type = 'run.started' and json_type(body, '$.limits.lent') is not null;

update events set body = json_set(json_remove(body, '$.run.care'), '$.run.safeguards', json(body -> '$.run.care'))
where type = 'run.queued' and json_type(body, '$.run.care') is not null;

update events set body = json_set(json_remove(body, '$.run.told'), '$.run.promptSources', json(body -> '$.run.told'))
where type = 'run.queued' and json_type(body, '$.run.told') is not null;

update events set body = json_set(
    json_remove(body, '$.run.limits.lent'), '$.run.limits.inherited', json(body -> '$.run.limits.lent')
)
where type = 'run.queued' and json_type(body, '$.run.limits.lent') is not null;

update events set body = json_set(json_remove(body, '$.givenUp'), '$.abandoned', json(body -> '$.givenUp'))
where type = 'sideCall.completed' and json_type(body, '$.givenUp') is not null;

update events set body = json_set(json_remove(body, '$.whole'), '$.full', json(body -> '$.whole'))
where type = 'ide.contextShared' and json_type(body, '$.whole') is not null;

update events set body = json_set(json_remove(body, '$.because'), '$.reason', json(body -> '$.because'))
where type = 'context.nudged' and json_type(body, '$.because') is not null;

update events set body = json_set(
    json_remove(body, '$.finishReason.refused.words'),
    '$.finishReason.refused.message', json(body -> '$.finishReason.refused.words')
)
where type = 'model.completed' and json_type(body, '$.finishReason.refused.words') is not null;

update events set body = json_set(json_remove(body, '$.said'), '$.answerDigest', json(body -> '$.said'))
where type in ('confirmation.resolved', 'confirmation.edited') and json_type(body, '$.said') is not null;

update events set body = json_set(json_remove(body, '$.why'), '$.reason', json(body -> '$.why'))
where type = 'confirmation.revised' and json_type(body, '$.why') is not null;

update events set body = json_set(
    json_remove(body, '$.confirmation.details.most'),
    '$.confirmation.details.maximum', json(body -> '$.confirmation.details.most')
)
where type in ('confirmation.requested', 'confirmation.revised')
    and json_extract(body, '$.confirmation.details.type') = 'budget'
    and json_type(body, '$.confirmation.details.most') is not null;

update events set body = json_set(json_remove(body, '$.again'), '$.redelivered', json(body -> '$.again'))
where type = 'tool.clientCall' and json_type(body, '$.again') is not null;

update events set body = json_set(json_remove(body, '$.hooked'), '$.awaitsHooks', json(body -> '$.hooked'))
where type = 'tool.state' and instr(body, '"hooked"') and json_type(body, '$.hooked') is not null;

update events set body = json_set(
    json_remove(body, '$.result.whole'), '$.result.fullOutput', json(body -> '$.result.whole')
)
where type = 'tool.state' and instr(body, '"whole"') and json_type(body, '$.result.whole') is not null;

update events set body = json_set(json_remove(body, '$.settles'), '$.settlesResult', json(body -> '$.settles'))
where type = 'hook.fired' and json_type(body, '$.settles') is not null;

update events set body = json_set(
    json_remove(body, '$.confinement.why'), '$.confinement.reason', json(body -> '$.confinement.why')
)
where type = 'hook.fired' and json_type(body, '$.confinement.why') is not null;

update events set body = json_set(
    json_remove(body, '$.droppedChange.why'), '$.droppedChange.reason', json(body -> '$.droppedChange.why')
)
where type = 'hook.fired' and json_type(body, '$.droppedChange.why') is not null;
