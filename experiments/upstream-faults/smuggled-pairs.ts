/** Bytes that some servers read as one request and others as two. */
export interface Pair {
  readonly name: string;
  /** The bytes, in latin1. */
  readonly bytes: string;
  /** Whether the bytes are one valid request, which the service receives; otherwise the gateway responds with 400. */
  readonly isValid: boolean;
}

/** The request that must not reach the service. */
export const second = "GET /smuggle/second HTTP/1.1\r\nHost: x\r\n\r\n";

const { length } = second;
const get = "GET /smuggle/first HTTP/1.1\r\nHost: x\r\n";
const post = "POST /smuggle/first HTTP/1.1\r\nHost: x\r\n";
const chunks = "0\r\n\r\n";
const chunked = "Transfer-Encoding: chunked\r\n";

const invalid: Readonly<Record<string, string>> = {
  "Content-Length before Transfer-Encoding": `${post}Content-Length: 5\r\n${chunked}\r\n${chunks}${second}`,
  "Transfer-Encoding before Content-Length": `${post}${chunked}Content-Length: ${chunks.length + length}\r\n\r\n${chunks}${second}`,
  "a short length with chunks": `${post}Content-Length: 4\r\n${chunked}\r\n${length.toString(16)}\r\n${second}\r\n${chunks}`,
  "two lengths": `${post}Content-Length: 0\r\nContent-Length: ${length}\r\n\r\n${second}`,
  "two equal lengths": `${post}Content-Length: ${length}\r\nContent-Length: ${length}\r\n\r\n${second}`,
  "a list of lengths": `${post}Content-Length: 0, ${length}\r\n\r\n${second}`,
  "a length with a sign": `${post}Content-Length: +${length}\r\n\r\n${second}`,
  "a hexadecimal length": `${post}Content-Length: 0x${length.toString(16)}\r\n\r\n${second}`,
  "a length with a space": `${post}Content-Length: ${length} 0\r\n\r\n${second}`,
  "a folded header": `${post}X-A: 1\r\n ${chunked}\r\n${chunks}${second}`,
  "a folded length": `${post}Content-Length:\r\n ${length}\r\n\r\n${second}`,
  "a folded Transfer-Encoding": `${post}Transfer-Encoding:\r\n chunked\r\n\r\n${chunks}${second}`,
  "a folded first header": `POST /smuggle/first HTTP/1.1\r\n Host: x\r\n${chunked}\r\n${chunks}${second}`,
  "bare line feeds": `${post}Content-Length: 0\r\n\r\n${second}`.replaceAll("\r\n", "\n"),
  "a bare line feed after a header": `${post}X-A: 1\n${chunked}\r\n${chunks}${second}`,
  "a bare line feed before the body": `${post}Content-Length: 0\r\n\n${second}`,
  "a bare carriage return": `${post}X-A: 1\r${chunked}\r\n${chunks}${second}`,
  "a space before the colon": `${post}Transfer-Encoding : chunked\r\n\r\n${chunks}${second}`,
  "a vertical tab before the coding": `${post}Transfer-Encoding: \x0bchunked\r\n\r\n${chunks}${second}`,
  "an unknown coding": `${post}Transfer-Encoding: xchunked\r\n\r\n${chunks}${second}`,
  "chunked before another coding": `${post}Transfer-Encoding: chunked, identity\r\n\r\n${chunks}${second}`,
  "chunked twice": `${post}${chunked}Transfer-Encoding: identity\r\n\r\n${chunks}${second}`,
  "a NUL in a value": `${post}X-A: a\0b\r\nContent-Length: 0\r\n\r\n${second}`,
  "another version": `POST /smuggle/first HTTP/1.10\r\nHost: x\r\nContent-Length: 0\r\n\r\n${second}`,
};

const closing = "Connection: close\r\n";
const withLength = `Content-Length: ${length}\r\n\r\n${second}`;

const valid: Readonly<Record<string, string>> = {
  "Connection: X-Request-ID": `${get}Connection: close, X-Request-ID\r\nX-Request-ID: client\r\n\r\n`,
  "Connection: Content-Length": `${post}Connection: close, Content-Length\r\n${withLength}`,
  "Connection: Transfer-Encoding": `${post}Connection: close, Transfer-Encoding\r\n${chunked}\r\n${length.toString(16)}\r\n${second}\r\n${chunks}`,
  "Connection: Host, X-Forwarded-For": `${get}Connection: close, Host, X-Forwarded-For\r\n\r\n`,
  "a header named Content_Length": `${post}${closing}Content_Length: 0\r\n${withLength}`,
  "a request line with two spaces": `POST /smuggle/first  HTTP/1.1\r\nHost: x\r\n${closing}${withLength}`,
  "a GET with a body": `${get}${closing}${withLength}`,
  "Expect with a body": `${post}${closing}Expect: 100-continue\r\n${withLength}`,
  "a chunk extension": `${post}${closing}${chunked}\r\n${length.toString(16)};a=b\r\n${second}\r\n${chunks}`,
  "a request in the trailers": `${post}${closing}Trailer: GET\r\n${chunked}\r\n0\r\nGET: /smuggle/second\r\n\r\n`,
  "line ends of other alphabets": `${get}${closing}X-A: \xc4\x8d\xc4\x8a${second.split("\r\n")[0]}\xc4\x8d\xc4\x8a\r\n\r\n`,
  "encoded line ends": `GET /smuggle/first%0d%0a%0d%0aGET%20/smuggle/second HTTP/1.1\r\nHost: x\r\n${closing}\r\n`,
};

const pairsOf = (texts: Readonly<Record<string, string>>, isValid: boolean): readonly Pair[] =>
  Object.entries(texts).map(([name, bytes]) => ({ name, bytes, isValid }));

/** All pairs. */
export const pairs: readonly Pair[] = [...pairsOf(invalid, false), ...pairsOf(valid, true)];

/** Two valid requests. The service receives both, which shows that the experiment would notice a second request. */
export const pipelined: Pair = {
  name: "two valid requests",
  bytes: `${get}\r\n${second.replace("\r\n\r\n", `\r\n${closing}\r\n`)}`,
  isValid: true,
};
