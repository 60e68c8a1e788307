export * from './results.js'
import type { Applied, Edit, EditOptions, Refused } from './results.js'

export interface ApplyOptions {
  /** Tells the language and appears in the diff; no file is read. */
  path?: string
}

/** Replaces `old` by `new_` in a text, as a model meant it; touches no file. */
export declare function apply(text: string, old: string, new_: string, options?: EditOptions & ApplyOptions): Applied | Refused
/** The same for the bytes of a file, which stay in their encoding. */
export declare function apply(text: Uint8Array, old: string, new_: string, options?: EditOptions & ApplyOptions): Applied<Uint8Array> | Refused

/** Applies edits that all refer to the text as it is given, all or none of them. */
export declare function applyMany(text: string, edits: Edit[], options?: ApplyOptions): Applied | Refused
export declare function applyMany(text: Uint8Array, edits: Edit[], options?: ApplyOptions): Applied<Uint8Array> | Refused

export declare const version: string
