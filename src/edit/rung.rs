//! Rungs and rewrites: how an edit was understood, with stable names on the wire.

named! {
    /// How an edit was located: by a rung of the ladder, strictest first, or by another tool. The
    /// comment on a rung of the ladder says what mistake it forgives.
    #[non_exhaustive]
    pub enum Rung {
        /// Nothing: the text is in the file, character for character.
        Exact = "exact",
        /// Line endings of another kind.
        LineEndings = "line_endings",
        /// One level of escaping too many: `\n`, `\t`, `\"`, `\\`.
        Unescaped = "unescaped",
        /// Line numbers copied from a view: `12|`, `12→`, `12:`, `[12]`, `<<12>>`, `12#VK|`.
        LineNumbers = "line_numbers",
        /// `+`, `-` or a space at the start of each line, copied from a diff.
        DiffMarkers = "diff_markers",
        /// A code fence around the text.
        CodeFence = "code_fence",
        /// HTML entities (`&lt;`, `&quot;`, `&amp;`) instead of the characters.
        HtmlEntities = "html_entities",
        /// Blank lines around the text.
        OuterBlankLines = "outer_blank_lines",
        /// White space at the ends of lines.
        TrailingBlanks = "trailing_blanks",
        /// Typographic quotes, dashes and spaces; different Unicode composition (NFC, NFD).
        LookAlikes = "look_alikes",
        /// Lines too deep or too shallow, tabs for spaces.
        Indentation = "indentation",
        /// `look_alikes` and `indentation` together.
        LookAlikesAndIndentation = "look_alikes_and_indentation",
        /// Blank lines added or left out.
        BlankLines = "blank_lines",
        /// White space inside lines, except in string literals.
        Spacing = "spacing",
        /// The kind of quotes; `,` or `;` at the end of a line.
        Punctuation = "punctuation",
        /// A statement broken into lines differently.
        Reflowed = "reflowed",
        /// A placeholder in `old_str`, such as `// ... existing code ...`, that stands for lines of the
        /// file.
        Elided = "elided",
        /// Misquoted comments, and lines of a long quote that the edit keeps.
        Aligned = "aligned",
        /// A model corrected the call.
        Model = "model",
        /// A line tool's line numbers or anchors were adjusted to changes of the file since they were read.
        Carried = "carried",
        /// A new file.
        Create = "create",
        /// A removed file.
        Delete = "delete",
        /// A renamed file.
        Rename = "rename",
        /// A file that a patch moved.
        Move = "move",
        /// An earlier edit undone.
        Undo = "undo",
        /// A request that was sent again; it got the first answer.
        Repeated = "repeated",
        /// Edits that were kept in memory and are now committed together.
        Staged = "staged",
        /// Configuration written by `restitch init`.
        Init = "init",
    }
}

named! {
    /// A rewrite that was applied to `old_str` or `new_str`.
    #[non_exhaustive]
    pub enum Rewrite {
        /// One level of escaping undone.
        Unescape = "unescape",
        /// Escapes undone in `new_str` only, where the language does not allow them.
        UnescapeNew = "unescape_new",
        /// Line numbers removed.
        LineNumbers = "line_numbers",
        /// Diff markers removed.
        DiffMarkers = "diff_markers",
        /// A code fence removed.
        CodeFence = "code_fence",
        /// HTML entities decoded.
        HtmlEntities = "html_entities",
        /// Blank lines around the text removed.
        OuterBlankLines = "outer_blank_lines",
        /// Line endings changed to the file's.
        LineEndings = "line_endings",
        /// Trailing white space changed to the file's.
        TrailingBlanks = "trailing_blanks",
        /// Look-alikes changed to the file's characters.
        LookAlikes = "look_alikes",
        /// Indentation changed to the file's.
        Indentation = "indentation",
        /// Blank lines changed to the file's.
        BlankLines = "blank_lines",
        /// White space inside lines changed to the file's.
        Spacing = "spacing",
        /// Quotes, and `,` or `;` at line ends, changed to the file's.
        Punctuation = "punctuation",
        /// Line breaks changed to the file's.
        Reflow = "reflow",
        /// A placeholder changed to the file's lines.
        Elision = "elision",
        /// Lines that the call misquotes but does not change, taken from the file.
        StaleContext = "stale_context",
        /// A model's correction of `old_str`.
        ModelOld = "model:old_str",
        /// A model's version of the lines of `new_str` that conflict with the file.
        ModelNew = "model:new_str",
        /// A model's repair of the escapes in `new_str`.
        ModelEscapes = "model:escapes",
        /// A model's choice between outcomes.
        ModelChoice = "model:choice",
        /// A line tool: carriage returns removed.
        CarriageReturns = "strip-carriage-returns",
        /// A line tool: line prefixes copied from a view removed.
        LinePrefixes = "strip-line-prefixes",
        /// A line tool: lost indentation restored.
        RestoreIndent = "restore-indent",
        /// A line tool: diff markers removed.
        StripDiffMarkers = "strip-diff-markers",
        /// A line tool: lines that were merged into one split again.
        ExpandMergedLines = "expand-merged-lines",
        /// A line tool: copies of the lines next to the range removed.
        BoundaryEcho = "strip-boundary-echo",
    }
}
