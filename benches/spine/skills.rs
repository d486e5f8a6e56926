//! Does what an agent is told cost anything in a turn? Prompt, memory and fifty skills; and looking again at more skills than anybody has.

use std::{fs, path::Path, time::Duration};

use anyhow::ensure;
use subagentd::{
    skills::{SkillPlaces, SkillReader},
    trust::TrustRecords,
};

use crate::{
    ground::{folder, now, since},
    house::{House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, least, median, percentile},
};

const REPEATS: usize = counted!(3, 1);
const TURNS: u32 = counted!(200, 5);
/// Skills that the agent is told of.
const SKILLS: usize = 50;
/// Skills of each of the user's three places, and how many of those there are.
const MANY: usize = counted!(1_990, 20);
const LOOKS: usize = counted!(25, 1);
const SKILLED: &str = "---\nkind: agent\nname: skilled\ndescription: Reads.\ntools: [read_file, activate_skill]\n---\nYou read.\n";
const TOLD: &str = "---\nkind: agent\nname: skilled\ndescription: Reads.\ntools: [read_file, activate_skill]\nprompt: { modules: true }\n---\nYou read.\n";
/// Lines of the memory file: a long one.
const MEMORY_LINES: usize = 200;

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    turns(table)?;
    looks(table)
}

fn turns(table: &mut Table) -> anyhow::Result<()> {
    let model = Zero::new(|asked| if asked.ordinal < TURNS { Reply::reads(asked, 1) } else { Reply::done() });
    let open = |agent: &str| {
        let parts = HouseParts { agents: vec![("skilled", agent.to_owned())], ..HouseParts::zero(&model) };
        House::open(parts)
    };
    let (without, with) = (open(SKILLED)?, open(TOLD)?);
    let config = with.agents().with_file_name("config");
    fs::create_dir_all(&config)?;
    fs::write(
        config.join("AGENTS.md"),
        "Say it plainly, and test it before you say it.\n".repeat(MEMORY_LINES),
    )?;
    let skills = with.agents().with_file_name("skills");
    write(&skills, SKILLS)?;
    let (mut ratios, mut notes) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let (plain, skilled) = (median(&turns_of(&without, &model)?), median(&turns_of(&with, &model)?));
        ratios.push(skilled / plain);
        notes.push(format!("{plain:.2} then {skilled:.2} ms"));
    }
    table.row(Row {
        name: "turn with prompt, memory and 50 skills against one without, p50",
        figure: least(&ratios),
        bound: 1.1,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: notes.join("; "),
    });
    without.close()?;
    with.close()
}

fn turns_of(house: &House, model: &Zero) -> anyhow::Result<Vec<Duration>> {
    model.take_asked();
    client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        client.run(house.start_of("skilled", "zero")).await
    })?;
    let turns: Vec<Duration> =
        model.take_asked().windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect();
    ensure!(turns.len() == TURNS as usize, "{} turns were seen", turns.len());
    Ok(turns)
}

fn looks(table: &mut Table) -> anyhow::Result<()> {
    let folder = folder()?;
    let home = folder.path();
    let places = ["config/skills", ".agents/skills", ".claude/skills"];
    for place in places {
        write(&home.join(place), MANY)?;
    }
    let reader = SkillReader::new(SkillPlaces::new(&home.join("config"), Some(home)));
    let trust = TrustRecords::default();
    let began = now();
    let count = reader.catalog(&[], &trust).all().count();
    let first = since(began);
    ensure!(count == MANY * places.len(), "{count} skills were found");
    let looked = |_| {
        let began = now();
        reader.catalog(&[], &trust);
        since(began)
    };
    let times: Vec<Duration> = (0..LOOKS).map(looked).collect();
    table.row(Row {
        name: "looking again at 6,000 skills, at a run's start",
        figure: percentile(&times, 0.5),
        bound: 50.0,
        unit: "ms",
        is_rate: false,
        baseline: None,
        note: format!("the first look {} ms, p99 {:.1}", first.as_millis(), percentile(&times, 0.99)),
    });
    Ok(())
}

fn write(place: &Path, count: usize) -> anyhow::Result<()> {
    for n in 0..count {
        let folder = place.join(format!("skill-{n}"));
        fs::create_dir_all(&folder)?;
        let text =
            format!("---\nname: skill-{n}\ndescription: Does what is number {n} on the list.\n---\nDo it.\n");
        fs::write(folder.join("SKILL.md"), text)?;
    }
    Ok(())
}
