import { z } from 'zod';
import { setting } from './settings.ts';
import { cidrsValue, integerValue, readBy, sizeValue } from './values.ts';

export const surfaces = ['api', 'delivery'] as const;
export type Surface = (typeof surfaces)[number];

const surfacesValue = readBy<ReadonlySet<Surface>>(`a list of ${surfaces.join(', ')}`, (text) => {
  const words = text.split(',').map((word) => word.trim());
  const known = surfaces.filter((surface) => words.includes(surface));
  return words.every((word) => known.some((surface) => surface === word)) ? new Set(known) : null;
});

const baseUrlValue = readBy('an absolute http or https URL that does not end with "/"', (text) => {
  if (!URL.canParse(text) || /[/?#]$/.test(text)) return null;
  const { protocol, username, password, search, hash } = new URL(text);
  const isPlain = username === '' && password === '' && search === '' && hash === '';
  return isPlain && (protocol === 'http:' || protocol === 'https:') ? text : null;
});

const ratePerMinute = integerValue(1, 1_000_000);

/** The HTTP server: where it listens, what it answers, whom it believes and limits. */
export const serverSettings = z.object({
  HOST: setting(
    readBy('a host name or an address', (text) => (/^[\w.:-]+$/.test(text) ? text : null)).prefault('0.0.0.0'),
    { meaning: 'Address that the listeners bind.' },
  ),
  PORT: setting(integerValue(0, 65_535).prefault('3000'), {
    meaning: 'Port of the main listener; `0` takes a free one.',
  }),
  SERVER_SURFACES: setting(surfacesValue.prefault('api,delivery'), {
    meaning: 'Which route groups a server has: `api` (jobs), `delivery` (streams, keys, images).',
  }),
  BASE_URL: setting(baseUrlValue.optional(), {
    meaning:
      'Public address of the media host, without a `/` at its end; `results.encryption.key_endpoint` begins with it.',
  }),
  TRUSTED_PROXIES: setting(cidrsValue.optional(), {
    meaning: 'Networks (CIDR) whose `X-Forwarded-For` counts.',
    defaultNote: 'none',
  }),
  API_RATE_LIMIT_PER_MINUTE: setting(ratePerMinute.prefault('30'), {
    meaning: 'Submissions and retries a minute for each API key.',
  }),
  KEY_RATE_LIMIT_PER_MINUTE: setting(ratePerMinute.prefault('120'), {
    meaning: 'Requests a minute to `/api/key` for each token or address.',
  }),
  DELIVERY_CACHE_SIZE: setting(sizeValue.prefault('256MiB'), {
    meaning: 'Memory for playlists and segments that were asked for lately; `0` keeps none.',
  }),
});
