import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Members of Kafka's classes by name, private ones too, where releases differ. */
final class Reflection {
    private Reflection() {
    }

    /** The class of the first of these names that the release has, or null. */
    static Class<?> type(String... names) {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException | LinkageError error) {
                // the next name
            }
        }
        return null;
    }

    /** The singleton of a Scala object. */
    static Object scalaObject(String name) throws ReflectiveOperationException {
        return field(Class.forName(name.endsWith("$") ? name : name + "$"), "MODULE$").get(null);
    }

    static Field field(Class<?> owner, String name) throws NoSuchFieldException {
        for (Class<?> each = owner; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        throw new NoSuchFieldException(owner.getName() + "." + name);
    }

    /** The value of an object's field; the object of a static field is its class. */
    static Object get(Object object, String name) throws ReflectiveOperationException {
        boolean isStatic = object instanceof Class;
        return field(isStatic ? (Class<?>) object : object.getClass(), name).get(isStatic ? null : object);
    }

    /** The first method of a name with that many parameters, or null. */
    static Method method(Class<?> owner, String name, int parameters) {
        for (Class<?> each = owner; each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == parameters && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        for (Class<?> each : owner.getInterfaces()) {
            Method found = method(each, name, parameters);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** Calls a method by its name and number of arguments; the object of a static method is its class. */
    static Object call(Object object, String name, Object... arguments) throws ReflectiveOperationException {
        boolean isStatic = object instanceof Class;
        Class<?> owner = isStatic ? (Class<?>) object : object.getClass();
        Method method = method(owner, name, arguments.length);
        if (method == null) {
            throw new NoSuchMethodException(owner.getName() + "." + name + "/" + arguments.length);
        }
        return unwrapped(() -> method.invoke(isStatic ? null : object, arguments));
    }

    /** Makes an object with the first constructor of that many parameters. */
    static Object make(Class<?> type, Object... arguments) throws ReflectiveOperationException {
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            if (constructor.getParameterCount() == arguments.length) {
                constructor.setAccessible(true);
                return unwrapped(() -> constructor.newInstance(arguments));
            }
        }
        throw new NoSuchMethodException(type.getName() + "/" + arguments.length);
    }

    private interface Call {
        Object run() throws ReflectiveOperationException;
    }

    private static Object unwrapped(Call call) throws ReflectiveOperationException {
        try {
            return call.run();
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof RuntimeException) {
                throw (RuntimeException) error.getCause();
            }
            throw error;
        }
    }
}
