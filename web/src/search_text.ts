// The meaning of a search text; the server searches, the page shows errors early.

export type SearchText =
  | { kind: 'none' }
  | { kind: 'text'; text: string }
  | { kind: 'pattern'; text: string }
  | { kind: 'wrong'; reason: string };

/** `/…/` is a regular expression, anything else a text. */
export function parseSearch(input: string): SearchText {
  const text = input.trim();
  if (text === '' || text === '/') return { kind: 'none' };
  if (!(text.startsWith('/') && text.endsWith('/') && text.length > 1)) return { kind: 'text', text };
  const pattern = text.slice(1, -1);
  if (pattern === '') return { kind: 'none' };
  // RE2 has neither; a browser would accept both.
  if (/\(\?<?[=!]/.test(pattern)) return { kind: 'wrong', reason: 'Look-ahead and look-behind are not supported.' };
  if (/\\[1-9]/.test(pattern)) return { kind: 'wrong', reason: 'Back-references are not supported.' };
  return { kind: 'pattern', text };
}
