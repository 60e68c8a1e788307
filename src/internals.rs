//! Internals that the tests, benchmarks and bindings of this repository use in addition to the API.
//! Nothing here is stable.

pub use crate::apply::Replaced;
pub use crate::patch::Patch;
pub use crate::text::tag;
pub use crate::views::read;

use crate::edit::{EditPlan, Explanation, Refusal, VerifiedEdit, WorkPath};
use crate::text::{Content, Snapshot};

#[cfg(feature = "cli")]
pub mod harness {
    //! Cases, their judges and scores, and the miner of transcripts.

    pub use crate::harness::case::{Case, Truth};
    pub use crate::harness::judge::{CaseVerdict, Judgment, adds_syntax_errors, judge, judge_in};
    pub use crate::harness::score::{Score, percent};
    pub use crate::harness::suite::{CaseSource, RunOutcome, load};
    pub use crate::harness::{mine, pack, parallel, replay};
}

#[cfg(feature = "cli")]
pub mod command {
    //! What a command of this workspace prints, and how it ends.

    pub use crate::cli::exit::Exit;
    pub use crate::cli::harness::progress::parallel_shown;
    pub use crate::cli::harness::{load_cases, write_fault};
    pub use crate::cli::out::{print, report, stdout, written};
}

pub mod text {
    //! Texts with their bytes.

    pub use crate::text::{ContentHash, Encoding, Snapshot, quote_name, register_secret};
}

pub mod store {
    //! What every store with a history needs.

    pub use crate::store::change_feed::ChangeFeed;
    pub use crate::store::protect::{admit, unportable_reason};
    pub use crate::store::rebase::{not_found, rebase_edit, refuse_duplicate_paths};
    pub use crate::store::record::{CommitRecord, FileRecord};
    pub use crate::store::timeline::{
        MAX_VERSIONS, Timeline, Versions, changed_lines, no_revision, now_millis, repeated,
        take_back,
    };
}

pub mod tools {
    //! The tables of the tools.

    #[cfg(feature = "cli")]
    use crate::engine::SyntaxGate;
    pub use crate::tools::arguments::SYNONYMS;
    pub use crate::tools::dialect::Dialect;
    pub use crate::tools::tool_set::ToolSet;
    pub use crate::tools::{ToolSpec, Visibility};

    /// Every tool.
    pub const TOOLS: &[ToolSpec] = crate::tools::TOOLS;

    /// Answers a call of `edit_file` that contains the text to edit, as `text`.
    #[cfg(feature = "cli")]
    pub fn edit_text(given: serde_json::Value) -> crate::tools::ToolReply {
        crate::tools::edit_text_with("edit_file", given, &SyntaxGate::built_in())
    }
}

pub mod engine {
    //! Requests of tools.

    pub use crate::engine::hashline::HashlineRequest;
    pub use crate::views::{ReadLimits, ReadRequest, ReadStyle};
}

pub mod language {
    //! The languages.

    pub use crate::language::{Language, Token, TokenKind};

    /// The request for a text in this language.
    pub fn in_language(
        request: crate::edit::EditRequest,
        language: Option<&'static Language>,
    ) -> crate::edit::EditRequest {
        crate::edit::EditRequest { language, ..request }
    }
}

pub mod matching {
    //! One call matched on a text.

    pub use crate::matching::{Explained, LADDER, explain};
}

pub mod correct {
    //! Prompts, answers and the layers around a corrector.

    #[cfg(feature = "llm")]
    pub use crate::correct::{Cached, MAX_AGE};
    pub use crate::correct::{
        Limited, ModelCorrector, PROMPTS, PromptBook, RenderedPrompt, Secrets, parse_reply,
    };
}

pub mod resolve {
    //! The steps by which one call is resolved, without disk or network.

    pub use crate::resolve::{Model, Reapply, Resolution, Step};
}

/// The edit of a plan that passes the checks.
pub fn verified(
    path: WorkPath,
    before: &Snapshot,
    plan: EditPlan,
    explanation: Explanation,
) -> Result<VerifiedEdit, Refusal> {
    VerifiedEdit::new(path, before, plan, explanation)
}

/// An edit that replaces a file by exactly these bytes, without checks.
pub fn restored(
    path: WorkPath,
    before: Option<Snapshot>,
    after: Option<Content>,
    explanation: Explanation,
) -> VerifiedEdit {
    VerifiedEdit::restore(path, before, after, explanation)
}
