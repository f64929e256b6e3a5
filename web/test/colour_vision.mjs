// Colours as people see them: contrast (WCAG 2), distance (CIEDE2000), and the three ways of seeing without one kind of cone.

const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

// Machado, Oliveira and Fernandes 2009, severity 1, of linear sRGB.
export const kVisions = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
};

/** CIELAB (D65) of sRGB from 0 to 1. */
export function seen(rgb, vision) {
  const light = rgb.map(linear);
  const [red, green, blue] = vision.map((row) => Math.min(1, Math.max(0, row.reduce((sum, part, i) => sum + part * light[i], 0))));
  const root = (t) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
  const x = root((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047);
  const y = root(0.2126729 * red + 0.7151522 * green + 0.072175 * blue);
  const z = root((0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const degrees = 180 / Math.PI;
const cos = (angle) => Math.cos(angle / degrees);
const angleOf = (a, b) => (Math.atan2(b, a) * degrees + 360) % 360;
const saturation = (chroma) => Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7));

/** CIEDE2000 of two colours in CIELAB. */
export function distance([l1, a1, b1], [l2, a2, b2]) {
  const stretch = 1.5 - 0.5 * saturation((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2);
  const [c1, c2] = [Math.hypot(stretch * a1, b1), Math.hypot(stretch * a2, b2)];
  const [h1, h2] = [angleOf(stretch * a1, b1), angleOf(stretch * a2, b2)];
  const turn = c1 * c2 === 0 ? 0 : (h2 - h1 + 540) % 360 - 180;
  const hue = c1 * c2 === 0 ? h1 + h2 : (h1 + turn / 2 + 360) % 360;
  const [light, chroma] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const wave = 1 - 0.17 * cos(hue - 30) + 0.24 * cos(2 * hue) + 0.32 * cos(3 * hue + 6) - 0.2 * cos(4 * hue - 63);
  const dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / Math.sqrt(20 + (light - 50) ** 2));
  const dc = (c2 - c1) / (1 + 0.045 * chroma);
  const dh = 2 * Math.sqrt(c1 * c2) * Math.sin(turn / 2 / degrees) / (1 + 0.015 * chroma * wave);
  const rotation = -2 * saturation(chroma) * Math.sin(60 * Math.exp(-(((hue - 275) / 25) ** 2)) / degrees);
  return Math.sqrt(dl * dl + dc * dc + dh * dh + rotation * dc * dh);
}

function luminance(rgb) {
  const [red, green, blue] = rgb.map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
