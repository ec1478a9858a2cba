import { displayP3, type NumberedColour } from './numbered-colour.ts';

// HDR photos become SDR in the same way as HDR videos (docs/reference/media.md, "Colour").

/** HDR's reference white in cd/m² (ITU-R BT.2408), which is 1 in what follows. */
const referenceWhite = 203;
/** The display of HLG (ITU-R BT.2100): its peak in cd/m², and its gamma. */
const hlgPeak = 1000;
const hlgGamma = 1.2;

/** Signal 0–1 to light: PQ to display light, HLG to scene light up to 1 (ITU-R BT.2100, tables 4 and 5). */
const lights = {
  pq: (signal: number) => {
    const power = signal ** (1 / 78.84375);
    return (
      (10_000 / referenceWhite) *
      (Math.max(0, power - 0.8359375) / (18.8515625 - 18.6875 * power)) ** (1 / 0.1593017578125)
    );
  },
  hlg: (signal: number) =>
    signal <= 0.5 ? signal ** 2 / 3 : (Math.exp((signal - 0.55991073) / 0.17883277) + 0.28466892) / 12,
} as const;

type Row = readonly [number, number, number];
/** To the primaries of sRGB, by the number of others. */
const toSrgbPrimaries: Readonly<Record<number, readonly [Row, Row, Row]>> = {
  9: [
    [1.660491, -0.587641, -0.07285],
    [-0.12455, 1.1329, -0.008349],
    [-0.018151, -0.100579, 1.11873],
  ],
  [displayP3]: [
    [1.22494, -0.22494, 0],
    [-0.042057, 1.042057, 0],
    [-0.019638, -0.078636, 1.098274],
  ],
};
const asItIs: readonly [Row, Row, Row] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

/** The curve of ffmpeg's `tonemap=mobius:param=0.5:peak=5`: unchanged up to a half, five times reference white is 1. */
function compressed(light: number): number {
  const [knee, peak] = [0.5, 5];
  if (light <= knee) return light;
  const a = (-(knee ** 2) * (peak - 1)) / (knee ** 2 - 2 * knee + peak);
  const b = (knee ** 2 - 2 * knee * peak + peak) / (peak - 1);
  return (((b + knee) ** 2 / (b - a)) * (light + a)) / (light + b);
}

const steps = 4095;
/** The numbers of sRGB for light of 0–1 in equal steps. */
const srgbNumbers = Uint8Array.from({ length: steps + 1 }, (_, step) => {
  const light = step / steps;
  return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));
});

/** Changes pixels of 8 bits a channel from HDR to sRGB, where they are. */
export function mapToSrgb(data: Uint8Array, channels: 3 | 4, { primaries, hdr }: NumberedColour): void {
  if (hdr === null) return;
  const lightOf = Float64Array.from({ length: 256 }, (_, value) => lights[hdr](value / 255));
  const [toRed, toGreen, toBlue] = toSrgbPrimaries[primaries] ?? asItIs;
  for (let at = 0; at + 2 < data.length; at += channels) {
    let [r, g, b] = [lightOf[data[at] ?? 0] ?? 0, lightOf[data[at + 1] ?? 0] ?? 0, lightOf[data[at + 2] ?? 0] ?? 0];
    if (hdr === 'hlg') {
      const gain = (hlgPeak / referenceWhite) * (0.2627 * r + 0.678 * g + 0.0593 * b) ** (hlgGamma - 1);
      [r, g, b] = [r * gain, g * gain, b * gain];
    }
    const red = toRed[0] * r + toRed[1] * g + toRed[2] * b;
    const green = toGreen[0] * r + toGreen[1] * g + toGreen[2] * b;
    const blue = toBlue[0] * r + toBlue[1] * g + toBlue[2] * b;
    const most = Math.max(red, green, blue);
    const scale = most > 0 ? (steps * compressed(most)) / most : 0;
    data[at] = numberOf(red * scale);
    data[at + 1] = numberOf(green * scale);
    data[at + 2] = numberOf(blue * scale);
  }
}

function numberOf(step: number): number {
  return srgbNumbers[Math.min(steps, Math.max(0, Math.round(step)))] ?? 0;
}
