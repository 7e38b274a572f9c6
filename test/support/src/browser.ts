/** The parts of a browser that signing in needs: cookies, and redirects that the test follows one by one. */
export interface Browser {
  readonly cookies: Map<string, string>;
  /** The current cookies with their attributes, as Set-Cookie lines. */
  readonly setCookies: string[];
  open(url: string, init?: RequestInit): Promise<Response>;
}

export function browser(): Browser {
  const cookies = new Map<string, string>();
  const setCookies: string[] = [];
  return {
    cookies,
    setCookies,
    async open(url, init = {}) {
      const headers = new Headers(init.headers);
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      if (cookie !== "") headers.set("cookie", cookie);
      const response = await fetch(url, { ...init, headers, redirect: "manual" });
      for (const line of response.headers.getSetCookie()) {
        setCookies.push(line);
        const [pair = "", ...flags] = line.split(";");
        const name = pair.slice(0, pair.indexOf("="));
        const gone = flags.some((each) => /^\s*(?:max-age=0|expires=Thu, 01 Jan 1970.*)\s*$/i.test(each));
        if (gone) cookies.delete(name);
        else cookies.set(name, pair.slice(pair.indexOf("=") + 1));
      }
      return response;
    },
  };
}

/** The parameters of a started sign-in attempt that the provider receives. */
export interface Started {
  readonly state: string;
  readonly nonce: string;
  readonly challenge: string;
  readonly location: URL;
  readonly response: Response;
}

export async function start(from: Browser, url: string): Promise<Started> {
  const response = await from.open(url);
  const location = new URL(response.headers.get("location") ?? "");
  const { searchParams } = location;
  return {
    state: searchParams.get("state") ?? "",
    nonce: searchParams.get("nonce") ?? "",
    challenge: searchParams.get("code_challenge") ?? "",
    location,
    response,
  };
}
