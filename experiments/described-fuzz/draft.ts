/** The kinds of callers. `full` has all rights. */
export type Caller = "full" | "none" | "malformed" | "expired" | "foreign key" | "no scope" | "no tenant";

/** A body as it is sent. */
export interface Body {
  readonly type: string | undefined;
  readonly bytes: Buffer;
}

/** A request that twists may change. */
export interface Draft {
  method: string;
  /** The encoded segments of the path. */
  segments: string[];
  /** The encoded names and values of the query. */
  query: (readonly [name: string, value: string])[];
  headers: Record<string, string>;
  caller: Caller;
  /** The JSON of the body; undefined for no body. */
  json: unknown;
  /** A body that replaces the JSON. */
  raw: Body | undefined;
  /** Whether method and path still belong to the operation. */
  isAddressed: boolean;
}
