/** An HTTP client that keeps the cookies of every host, and follows redirects only in {@link follow}. */
export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>();

  async get(url: string): Promise<Response> {
    return this.#ask(url, { headers: this.#headers(url) });
  }

  async post(url: string, form: Readonly<Record<string, string>>): Promise<Response> {
    const headers = { ...this.#headers(url), "Sec-Fetch-Site": "same-origin" };
    return this.#ask(url, { method: "POST", headers, body: new URLSearchParams(form) });
  }

  /** Follows all redirects with GET. */
  async follow(answer: Response): Promise<Response> {
    const to = answer.headers.get("location");
    return to === null ? answer : this.follow(await this.get(new URL(to, answer.url).href));
  }

  #headers(url: string): Record<string, string> {
    const kept = this.#cookies.get(new URL(url).host) ?? new Map<string, string>();
    const cookie = [...kept].map(([name, value]) => `${name}=${value}`).join("; ");
    return { Accept: "text/html", ...(cookie === "" ? {} : { Cookie: cookie }) };
  }

  async #ask(url: string, init: RequestInit): Promise<Response> {
    const answer = await fetch(url, { ...init, redirect: "manual" });
    const { host } = new URL(url);
    const kept = this.#cookies.get(host) ?? new Map<string, string>();
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "" || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) kept.delete(name);
      else kept.set(name, value);
    }
    this.#cookies.set(host, kept);
    return answer;
  }
}
