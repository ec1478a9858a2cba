import { BlockList, isIP } from 'node:net';
import { sourceKeySchema } from '#domain/jobs/submission.ts';
import { parseThumbPresets, type ThumbPresets } from '#domain/playback/thumb-options.ts';
import type { Environment } from './variable.ts';
import type { TextValue } from './values.ts';

/** Presets of images: `card=w:320,h:180,fit:cover;hero=w:1280`. */
export const thumbPresetsValue: TextValue<ThumbPresets> = {
  expected: 'presets such as card=w:320,h:180,fit:cover;hero=w:1280',
  read: (text) => {
    const parsed = parseThumbPresets(text);
    return 'presets' in parsed ? parsed.presets : null;
  },
  explain: (text) => {
    const parsed = parseThumbPresets(text);
    return 'faults' in parsed ? [...parsed.faults] : [];
  },
};

/** The beginning of the keys of sources that are shown: `uploads/`, or '' for `all`. */
export const thumbSourcesValue: TextValue<string> = {
  expected: 'all, or a prefix of keys that ends with "/", such as uploads/',
  read: (text) => {
    if (text === 'all') return '';
    return text.endsWith('/') && sourceKeySchema.safeParse(text).success ? text : null;
  },
};

const privateNetworks = new BlockList();
for (const [network, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  privateNetworks.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  privateNetworks.addSubnet(network, bits, 'ipv6');

/** Names that no public resolver knows: of one machine, of a compose file, or reserved (RFC 2606, 6762, 8375). */
const privateName = /^[^.]+$|\.(?:localhost|local|internal|test|lan|home\.arpa)$/;

function isPublicAddress(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false;
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family === 0) return !privateName.test(host);
  return !privateNetworks.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Why images may not be shown without signatures here: a fault for each sign that strangers reach this server. */
export function faultsOfUnsigned(
  { thumbUnsigned, baseUrl }: { readonly thumbUnsigned?: 'off' | 'on'; readonly baseUrl?: string },
  env: Environment,
): string[] {
  if (thumbUnsigned !== 'on') return [];
  return [
    ...(env['NODE_ENV'] === 'production' ? ['THUMB_UNSIGNED: expected off where NODE_ENV is production'] : []),
    ...(isPublicAddress(baseUrl ?? '') ? ['THUMB_UNSIGNED: expected off where BASE_URL is a public address'] : []),
  ];
}
