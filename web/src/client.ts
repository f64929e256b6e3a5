// Requests to the server that gave this page. Addresses are relative: the token is in the page's own.
import type { Questions } from './protocol';

type Request<N extends keyof Questions> = Questions[N]['request'];
type Reply<N extends keyof Questions> = Questions[N]['reply'];

/** One sentence for people. */
export class ServerError extends Error {
  constructor(message: string, readonly isGone: boolean) { super(message); }
}

/** The content of a page that was saved as one file, instead of a server. */
interface Recorded { state: string; answers: Record<string, string>; left_out: number }
const recordedText = globalThis.document?.getElementById('recorded')?.textContent;
export const recorded: Recorded | undefined = recordedText ? (JSON.parse(recordedText) as Recorded) : undefined;

/** The page draws two runs, 0 and 1; this one of the server is its second. */
let second = 1;
export function setSecond(run: number): void { second = run; }
export function runOfServer(run: number): number { return run === 1 ? second : run; }
function toServer(address: string): string { return address.replace(/([?&]run=)1(?=&|$)/, `$1${second}`); }
/** The missing parts of a saved page, in words; empty for a page with a server. */
export function sentenceOf(saved: Pick<Recorded, 'left_out'> | undefined): string {
  if (!saved) return '';
  const missing = saved.left_out ?? 0;
  return 'A saved page: it shows what was looked at before.' +
    (missing > 0 ? ` ${missing === 1 ? 'One answer' : `${missing} answers`} had no room in it, so that some details are missing or coarse.` : '');
}
export const savedSentence = sentenceOf(recorded);

/** Addresses in the order in which they were last asked for. */
const asked = new Set<string>();
export function lastAsked(most: number): string[] { return [...asked].slice(-most); }

/** From the file where the page is one, else from the server. */
async function answer(address: string, options: RequestInit): Promise<Response> {
  if (!recorded) {
    asked.delete(address);
    asked.add(address);
    return checked(fetch(address, options));
  }
  const text = recorded.answers[address];
  if (text === undefined) throw new ServerError('This is not part of the saved page.', false);
  return new Response(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
}

async function checked(request: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await request;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ServerError('The server does not answer. Is orrery view still running?', true);
  }
  if (response.ok) return response;
  const text = (await response.text().catch(() => '')).trim().split('\n')[0].slice(0, 300);
  throw new ServerError(text || `The server answered ${response.status}.`, false);
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export async function getBytes(address: string, signal: AbortSignal): Promise<ArrayBuffer> {
  const response = await answer(toServer(address), { signal });
  return response.arrayBuffer();
}

async function parsed<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new ServerError('The answer of the server cannot be read.', false);
  }
}

/** The address of a question. */
export function addressOf<N extends keyof Questions>(name: N, request: Request<N>): string {
  return query(`api/${name}`, request as Record<string, string | number>);
}

export async function ask<N extends keyof Questions>(name: N, request: Request<N>, signal?: AbortSignal): Promise<Reply<N>> {
  return parsed<Reply<N>>(await answer(toServer(addressOf(name, request)), signal ? { signal } : {}));
}

/** With the server's number of the run. */
export async function askAsIs<N extends keyof Questions>(name: N, request: Request<N>): Promise<Reply<N>> {
  return parsed<Reply<N>>(await answer(addressOf(name, request), {}));
}

function posted(address: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  if (recorded) return Promise.reject(new ServerError('A saved page has no server to ask.', false));
  const options: RequestInit = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  if (signal) options.signal = signal;
  return checked(fetch(address, options));
}

/** Asks for what the server has to simulate. */
export async function post<N extends keyof Questions>(name: N, request: Request<N>, signal?: AbortSignal): Promise<Reply<N>> {
  return parsed<Reply<N>>(await posted(`api/${name}`, request, signal));
}

export async function postForPage(address: string, body: unknown): Promise<Blob> {
  return (await posted(address, body)).blob();
}

function query(address: string, values: Record<string, string | number>): string {
  const pairs = Object.entries(values).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return pairs.length ? `${address}?${pairs.join('&')}` : address;
}
