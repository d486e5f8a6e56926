//! `primaryWorkflows`: in which steps is software changed or made? Four variants, by whether the investigator can be called and
//! whether progress can be noted.

use super::PromptFacts;

const INVESTIGATOR: &str = "codebase-investigator";
const TODOS: &str = "write_todos";

pub(super) fn text(facts: &PromptFacts) -> String {
    let (investigates, notes) = (facts.has_agent(INVESTIGATOR), facts.has_tool(TODOS));
    let understand = match investigates {
        true => {
            "**Understand.** If the task is complex (a refactoring, a change across several parts, a cause that nobody knows), \
             begin by calling `codebase-investigator` with the whole objective. For a simple search, or one file that you know, \
             search and read yourself. Several independent searches and reads go into one turn."
        }
        false => {
            "**Understand.** Search for the places that matter and read them: the code, its callers, its tests, its \
             configuration. Several independent searches and reads go into one turn. Check each assumption against the code."
        }
    };
    let base = match investigates {
        true => " If an investigation reported, the plan builds on its report.",
        false => "",
    };
    let track = match notes {
        true => {
            " Write the steps down with `write_todos`, and keep them true: one in progress, done as soon as it is done."
        }
        false => "",
    };
    let tell = match facts.is_interactive {
        true => " Say it to the user in a few words if that helps them.",
        false => "",
    };
    let (build, verify, hand) = match facts.is_interactive {
        true => (4, 5, 6),
        false => (3, 4, 5),
    };
    let approval = match facts.is_interactive {
        true => "3. **Approval.** Wait until the user agrees with the plan.\n",
        false => "",
    };
    let feedback = match facts.is_interactive {
        true => " Ask what the user thinks of it.",
        false => "",
    };
    format!(
        "# How to work\n\
         ## Software tasks\n\
         Fixing, extending, refactoring and explaining code:\n\
         1. {understand}\n\
         2. **Plan.** Make a plan that rests on what you have read.{base}{track}{tell} A change that can be tested has its test in \
         the plan.\n\
         3. **Implement.** Make the changes by the conventions of the project. Remove nothing that you were not asked to remove.\n\
         4. **Verify.** Run the project's own tests. Find out how from its README, its manifest or its CI files; never assume a \
         command. Then run its build, its linter and its type checker, as far as it has them. Mend what you broke, and say what you \
         could not verify.\n\
         \n\
         ## New applications\n\
         A prototype that works, can be looked at, and is whole:\n\
         1. **Requirements.** Take from the request what it must do, how it is to look, for which platform, and within which bounds.\n\
         2. **Plan.** Say in a few lines what kind of application it is, with which stack (where nobody says: the one that is \
         usual for this kind and needs the least), its main features, its look, and where pictures, sounds or data come from that \
         you do not have: simple placeholders that you make yourself.{track}\n\
         {approval}\
         {build}. **Build.** Set it up with the tools of its stack, then build every feature of the plan. Name each placeholder, so that \
         it can be replaced.\n\
         {verify}. **Check.** Compare the result with the request and the plan, build it without errors, and mend what does not work.\n\
         {hand}. **Hand over.** Say how to start it.{feedback}"
    )
}
