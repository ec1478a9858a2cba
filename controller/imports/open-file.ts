import { readFileAnswer, ImportInterruption, type SentFile } from '#domain/imports/file-answer.ts';
import { isListedHost } from '#domain/imports/hosts.ts';
import { ImportFailure } from '#domain/imports/import.ts';
import type { ImportSettings } from '#platform/config/import-settings.ts';
import { OutboundError, type ResolvedAddress } from '#platform/outbound-http/checked-addresses.ts';
import { getOutbound, type OutboundFile } from '#platform/outbound-http/outbound-get.ts';

export interface OpenFileDependencies {
  readonly settings: Pick<ImportSettings, 'hosts' | 'allowedCidrs'>;
  /** The system's resolver by default. */
  readonly resolve?: (name: string) => Promise<readonly ResolvedAddress[]>;
  /** For tests; 30 s by default. */
  readonly idleMs?: number;
}

interface WantedBytes {
  readonly url: string;
  /** Continue from this byte on if the file is still the one of `validator`; null: from its begin. */
  readonly from: { readonly offset: number; readonly validator: string } | null;
  readonly signal: AbortSignal;
}

interface OpenedFile extends Pick<OutboundFile, 'body' | 'close'> {
  readonly sent: SentFile;
}

const redirectsMax = 5;
const answerTimeoutMs = 30_000;
const idleMsDefault = 30_000;

/**
 * Asks for a file, by redirects within the list of hosts. Each host is checked before a connection to it is opened.
 *
 * @throws ImportFailure; ImportInterruption; the reason of `signal`
 */
export async function openFile(wanted: WantedBytes, dependencies: OpenFileDependencies): Promise<OpenedFile> {
  const { from } = wanted;
  const headers = from === null ? {} : { range: `bytes=${from.offset}-`, 'if-range': from.validator };
  let url = new URL(wanted.url);
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    if (!isListedHost(url, dependencies.settings.hosts)) throw new ImportFailure('host_not_allowed');
    const answer = await get(url, headers, { ...dependencies, signal: wanted.signal });
    const target = redirectOf(url, answer);
    if (target === null) return { ...answer, sent: readOrClose(answer, from?.offset ?? 0) };
    answer.close();
    url = target;
  }
  throw new ImportFailure('too_many_redirects');
}

async function get(
  url: URL,
  headers: Record<string, string>,
  { settings, resolve, idleMs = idleMsDefault, signal }: OpenFileDependencies & { readonly signal: AbortSignal },
): Promise<OutboundFile> {
  const { allowedCidrs } = settings;
  const rules = { allowedCidrs, ...(resolve === undefined ? {} : { resolve }) };
  try {
    return await getOutbound({ url, headers, timeoutMs: answerTimeoutMs, idleMs, signal, ...rules });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.code === 'refused_address') throw new ImportFailure('address_refused');
    throw new ImportInterruption(error.message, { cause: error });
  }
}

/**
 * Where an answer sends its client; null when it is no redirect.
 *
 * @throws ImportFailure `insecure_redirect`, `bad_answer`; the answer is closed then
 */
export function redirectOf(
  url: URL,
  { statusCode, headers, close }: Pick<OutboundFile, 'statusCode' | 'headers' | 'close'>,
): URL | null {
  if (![301, 302, 303, 307, 308].includes(statusCode)) return null;
  const target = URL.parse(headers.location ?? '', url.href);
  const isFile = target !== null && ['http:', 'https:'].includes(target.protocol);
  const isPlain = headers.location !== undefined && isFile && target.username === '' && target.password === '';
  if (isPlain && (url.protocol === 'http:' || target.protocol === 'https:')) return target;
  close();
  throw new ImportFailure(isPlain ? 'insecure_redirect' : 'bad_answer', statusCode);
}

function readOrClose(answer: OutboundFile, offset: number): SentFile {
  try {
    return readFileAnswer(answer.statusCode, answer.headers, offset);
  } catch (error) {
    answer.close();
    throw error;
  }
}
