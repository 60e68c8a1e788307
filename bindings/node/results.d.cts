// The results of `apply` and `applyMany`, shared by the native addon and WebAssembly.

/** Options of an edit. */
export interface EditOptions {
  /** Replace every occurrence. */
  replaceAll?: boolean
  /** How often `old` must occur; all occurrences are replaced. Once by default. */
  expected?: number
  /** A line near the text, to choose among several occurrences. */
  nearLine?: number
}

/** One replacement of text by text. */
export interface Edit extends EditOptions {
  old: string
  new: string
}

/** One side of a changed span. Lines are counted from 1. */
export interface Extent {
  startLine: number
  /** `startLine - 1` if this side is empty. */
  endLine: number
  /** In bytes of the file; for a string, of its UTF-8. */
  startByte: number
  endByte: number
}

export interface Span {
  before: Extent
  after: Extent
}

/** The strings that were used in place of those that were sent. */
export interface Corrected {
  oldStr: string
  newStr: string
}

/** A line of the call and the line of the file, with whitespace made visible. */
export interface Difference {
  line: number
  oldLine: number
  expected: string
  found: string
}

/** Lines of the file that are similar to `old`. */
export interface Near {
  startLine: number
  endLine: number
  score: number
  firstDifference: Difference | null
}

/** One of several possible results of a call. */
export interface Outcome {
  how: string
  diff: string
}

/** Lines that the call changes, and that differ in the file from what the call assumed. */
export interface Conflict {
  startLine: number
  endLine: number
  believed: string
  found: string
  written?: string
}

/** One attempt to correct a call by a model. */
export interface Attempt {
  ask: string
  outcome: string
  detail: string
}

/** A text after an edit, and how the call was understood. */
export declare class Applied<T extends string | Uint8Array = string> {
  private constructor()
  readonly ok: true
  readonly text: T
  /** The rung of the ladder that matched; `exact` if nothing had to be forgiven. */
  readonly rung: string
  readonly rewrites: string[]
  readonly replacements: number
  readonly warnings: string[]
  readonly spans: Span[]
  readonly corrected: Corrected | null
  readonly diff: string
  unwrap(): this
}

/** An edit that did not happen. Nothing was written. */
export declare class Refused {
  private constructor()
  readonly ok: false
  /** Stable: `EDIT_NO_OCCURRENCE_FOUND`, `EDIT_AMBIGUOUS`, … */
  readonly code: string
  readonly message: string
  /** What to do next. */
  readonly hint: string | null
  /** The whole refusal for a model: the cause, the nearest lines, the next step. */
  readonly text: string
  readonly nearest: Near[]
  readonly occurrences: number[]
  readonly outcomes: Outcome[]
  readonly conflicts: Conflict[]
  readonly attempts: Attempt[]
  readonly path?: string
  /** Throws a `RefusedError`. */
  unwrap(): never
}

export declare class RefusedError extends Error {
  constructor(refused: Refused)
  readonly refused: Refused
}
