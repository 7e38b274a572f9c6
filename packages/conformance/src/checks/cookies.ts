import type { Answer } from "../answer.ts";

/** A cookie set by a response. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  /** Attributes by lower-case name; those without a value are empty strings. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly isDeleted: boolean;
}

export function setCookies(answer: Answer): readonly Cookie[] {
  return answer.all("set-cookie").map((line) => {
    const [pair = "", ...rest] = line.split(";").map((part) => part.trim());
    const [name, value] = halves(pair);
    const attributes = new Map(rest.map(halves).map(([key, given]) => [key.toLowerCase(), given]));
    const expires = Date.parse(attributes.get("expires") ?? "");
    const isDeleted = Number(attributes.get("max-age") ?? 1) <= 0 || expires <= Date.now();
    return { name, value, attributes, isDeleted };
  });
}

function halves(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** A cookie jar for one site; ignores the Path attribute. */
export interface Jar {
  readonly size: number;
  has(name: string): boolean;
  take(answer: Answer): void;
  /** Returns the request headers that send the cookies back. */
  headers(): readonly (readonly [string, string])[];
}

export function newJar(): Jar {
  const cookies = new Map<string, string>();
  return {
    get size() {
      return cookies.size;
    },
    has: (name) => cookies.has(name),
    take(answer) {
      for (const { name, value, isDeleted } of setCookies(answer)) {
        if (isDeleted) cookies.delete(name);
        else cookies.set(name, value);
      }
    },
    headers() {
      const all = [...cookies].map(([name, value]) => `${name}=${value}`);
      return all.length === 0 ? [] : [["Cookie", all.join("; ")]];
    },
  };
}
