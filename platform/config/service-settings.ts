import { resolve } from 'node:path';
import { z } from 'zod';
import { setting } from './settings.ts';
import { httpUrlValue, readBy, wordValue } from './values.ts';
import { logLevels } from '../telemetry/logger.ts';

/** Where the rows are: a server, or a real PostgreSQL that is started on a folder (an absolute path). */
export type DatabaseUrl =
  { readonly kind: 'postgres'; readonly url: string } | { readonly kind: 'embedded'; readonly dir: string };

/** Where tickets and counters are: a server, or the database. */
export type RedisUrl = { readonly kind: 'redis'; readonly url: string } | { readonly kind: 'embedded' };

/** A URL with one of `schemes` and a host. The text itself is kept. */
function urlWith(text: string, schemes: readonly string[]): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, hostname } = new URL(text);
  return schemes.includes(protocol) && hostname !== '' ? text : null;
}

const databaseUrlValue = readBy<DatabaseUrl>('postgres://… or embedded:DIR', (text) => {
  const dir = /^embedded:(.+)$/.exec(text)?.[1];
  if (dir !== undefined) return { kind: 'embedded', dir: resolve(dir) };
  const url = urlWith(text, ['postgres:', 'postgresql:']);
  return url === null ? null : { kind: 'postgres', url };
});

const redisUrlValue = readBy<RedisUrl>('redis://…, rediss://… or embedded:', (text) => {
  if (text === 'embedded:') return { kind: 'embedded' };
  const url = urlWith(text, ['redis:', 'rediss:']);
  return url === null ? null : { kind: 'redis', url };
});

export const modes = ['all', 'server', 'worker'] as const;

/** The process as a whole: its mode, what it is connected to, what it tells. */
export const serviceSettings = z.object({
  MODE: setting(wordValue(modes).prefault('all'), {
    meaning: '`all`, `server` or `worker`; the flag `--mode=` wins over it.',
  }),
  DATABASE_URL: setting(databaseUrlValue, {
    meaning: '`postgres://…`, or `embedded:DIR`: a real PostgreSQL out of npm, started on that folder.',
    isSecret: true,
  }),
  REDIS_URL: setting(redisUrlValue.optional(), {
    meaning: '`redis://…` or `rediss://…`, or `embedded:`: queue and key-value store in the database.',
    isSecret: true,
  }),
  LOG_LEVEL: setting(wordValue(logLevels).prefault('info'), {
    meaning: `One of ${logLevels.join(', ')}. Logs are JSON lines on standard error; secrets are never in them.`,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(httpUrlValue.optional(), {
    meaning: 'OTLP/HTTP collector for traces; without one, spans are created and not exported.',
    defaultNote: 'no export',
  }),
});
