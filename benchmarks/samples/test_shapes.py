"""Tests of the plane figures."""

import math
import unittest

from shapes import Circle, Rectangle, largest, total_area


class CircleTest(unittest.TestCase):
    def test_area(self) -> None:
        circle = Circle(radius=2.0)
        self.assertAlmostEqual(circle.area(), 4 * math.pi)

    def test_perimeter(self) -> None:
        circle = Circle(radius=2.0)
        self.assertAlmostEqual(circle.perimeter(), 4 * math.pi)

    def test_scaled(self) -> None:
        circle = Circle(radius=2.0).scaled(3.0)
        self.assertAlmostEqual(circle.radius, 6.0)


class RectangleTest(unittest.TestCase):
    def test_area(self) -> None:
        rectangle = Rectangle(width=2.0, height=3.0)
        self.assertAlmostEqual(rectangle.area(), 6.0)

    def test_perimeter(self) -> None:
        rectangle = Rectangle(width=2.0, height=3.0)
        self.assertAlmostEqual(rectangle.perimeter(), 10.0)


class SeveralTest(unittest.TestCase):
    def test_total_area(self) -> None:
        figures = [Rectangle(1.0, 1.0), Rectangle(2.0, 3.0)]
        self.assertAlmostEqual(total_area(figures), 7.0)

    def test_largest(self) -> None:
        figures = [Rectangle(1.0, 1.0), Rectangle(2.0, 3.0)]
        self.assertEqual(largest(figures), Rectangle(2.0, 3.0))
