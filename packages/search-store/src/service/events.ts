/** Event of a bound search or of index maintenance. It contains no tenant and no text. */
export type SearchEvent =
  | {
      readonly type: "searched";
      readonly kind: "vector" | "text" | "hybrid";
      readonly hits: number;
      readonly durationMs: number;
    }
  | { readonly type: "ingested"; readonly embedded: number; readonly reused: number }
  | { readonly type: "measured"; readonly recall: number };
